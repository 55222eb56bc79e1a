"""What files hold and declare, without Spark: both engines and `astralq check` use it."""
