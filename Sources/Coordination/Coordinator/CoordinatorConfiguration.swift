internal import Commands
package import NetworkControl

/// How the coordinator paces itself. The defaults are the contract's.
package struct CoordinatorConfiguration: Sendable {
    /// The backstop: how often the store is looked through for what no hint told.
    package var sweep: Duration = .seconds(5)
    /// How often the control state is resent.
    package var control: Duration = .seconds(1)
    /// A worker whose loop has made no progress for so long is killed, then reaped.
    package var hang: Duration = .seconds(5)
    /// Ready commands kept in memory for each destination and class.
    package var window = 256
    /// Finished commands are kept for so long.
    package var retention: Duration = Command.defaultRetention
    /// What the network allows.
    package var network = NetworkPolicy()
    /// Called with the payload of each command that is pruned and was no success, on a thread that may block.
    package var abandoned: @Sendable ([UInt8]) -> Void = { _ in }

    package init() {}
}
