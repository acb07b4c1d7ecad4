internal import Host
internal import Logging
internal import Membership
internal import Store
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
