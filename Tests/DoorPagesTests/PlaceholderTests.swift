import Testing

@testable import DoorPages
