"""What the API's description is assembled from; imported only when somebody asks for it."""
