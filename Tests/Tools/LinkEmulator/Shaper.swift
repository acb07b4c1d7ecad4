import Commands

/// An implementation of the emulated link.
protocol Shaper: AnyObject {
    /// The name for reports.
    var name: String { get }
    /// The properties and counters of every link and direction.
    var links: JSONValue { get }
    /// The bytes that each flow has sent; nil if this shaper does not see packets.
    func flows(since: Int64) -> JSONValue?
    /// - Parameter destination: the index of the destination; nil for the shared link.
    func change(destination: Int?, direction: Direction?, _ change: JSONValue) throws
    /// Carries packets until the last control connection ends.
    func run(until control: ControlServer, answer: (JSONValue) throws -> JSONValue) throws
}
