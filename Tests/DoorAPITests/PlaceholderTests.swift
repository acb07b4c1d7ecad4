import Testing

@testable import DoorAPI
