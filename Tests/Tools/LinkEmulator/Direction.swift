/// A direction of traffic, as the client sees it.
enum Direction: String, CaseIterable { case up, down }
