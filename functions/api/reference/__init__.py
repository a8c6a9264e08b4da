"""The parts of the API's description, imported only when a request asks for it."""
