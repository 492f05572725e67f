"""The experiment over ROS 2: thin nodes that convert messages and ask pure code."""
