package import Commands
internal import Host
internal import Logging
internal import Membership
package import NetworkControl
package import Store
internal import ZeroMQ

/// The values that every part of a coordinator needs.
struct CoordinatorEnvironment {
    let callbacks: LoopCallbacks
    let store: StoreAccess
    /// Of the store; nil where it has none.
    let files: (any StoreMaintenance)?
    let configuration: CoordinatorConfiguration
    let presence: any Presence
    let endpoints: any Endpoints
    /// Has the record of the clock, and the locks of programs.
    let runDirectory: RunDirectory
    let role: any HeldCoordination
    let logger: Logger
    /// Set where the coordinator must end.
    let loss: PresenceLoss

    var loop: PollLoop { callbacks.loop }

    /// Of this coordinator.
    var epoch: Int64 { role.epoch }

    init(
        loop: PollLoop, opened: OpenedStore, configuration: CoordinatorConfiguration,
        role: any HeldCoordination, logger: Logger, loss: PresenceLoss
    ) {
        callbacks = LoopCallbacks(loop: loop)
        self.store = StoreAccess(opened.store, callbacks: callbacks, logger: logger)
        files = opened.maintenance
        self.configuration = configuration
        presence = opened.presence
        endpoints = opened.endpoints
        runDirectory = opened.directory.run
        self.role = role
        self.logger = logger
        self.loss = loss
    }
}

/// The intervals and limits of a coordinator. The defaults are those of the design.
package struct CoordinatorConfiguration: Sendable {
    /// How often the store is swept for ready commands that no hint told of.
    package var sweep: Duration = .seconds(5)
    /// How often the control state is resent.
    package var control: Duration = .seconds(1)
    /// A worker whose loop has made no progress for this time is killed, then reaped.
    package var hang: Duration = .seconds(5)
    /// Ready commands kept in memory for each destination and class.
    package var window = 256
    /// Finished commands are kept for this time.
    package var retention: Duration = Command.defaultRetention
    /// The policy of the network.
    package var network = NetworkPolicy()
    /// Called with the payload of each pruned command that did not succeed, on a thread that may block.
    package var abandoned: @Sendable ([UInt8]) -> Void = { _ in }
    /// Makes the command that removes the remains of one that has ended; nil where there are none.
    package var cleanup: @Sendable (Leftover) -> CommandDraft? = { _ in nil }
    /// Checks the commands that programs have submitted by SQL, on a thread that may block. Nil: the inbox of the store is not
    /// read.
    package var inbox: InboxCheck?
    package typealias InboxCheck = @Sendable ([InboxEntry]) throws(StoreError) -> [InboxVerdict]
    /// Called four times a second by the loop: for a watchdog.
    package var beat: @Sendable () -> Void = {}

    /// The measurements of this process, as bodies of events. Called by the loop every 5 s while a monitor wants them.
    package var reports: @Sendable () -> [String] = { [] }

    package init() {}
}
