"""What the end-to-end tests stand on: brokers, clients, tools and raw frames, each in a module of its own."""
