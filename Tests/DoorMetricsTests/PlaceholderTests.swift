import Testing

@testable import DoorMetrics
