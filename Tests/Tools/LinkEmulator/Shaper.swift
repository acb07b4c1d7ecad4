import Commands

/// What makes a link slow.
protocol Shaper: AnyObject {
    /// For reports: which one ran.
    var name: String { get }
    /// The shapes of every link and direction, with counters where there are any.
    var links: JSONValue { get }
    /// What each flow has sent; nil where this shaper does not see packets.
    func flows(since: Int64) -> JSONValue?
    /// - Parameter destination: its index, nil for the shared link.
    func change(destination: Int?, direction: Direction?, _ change: JSONValue) throws
    /// Carries packets until the control has lost its last connection.
    func run(until control: ControlServer, answer: (JSONValue) throws -> JSONValue) throws
}

enum Direction: String, CaseIterable { case up, down }
