"""Physical plans: tables that a query is computed with, chosen without Spark, actions or files."""
