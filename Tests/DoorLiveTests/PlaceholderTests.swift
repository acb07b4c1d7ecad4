import Testing

@testable import DoorLive
