internal import Host
internal import Logging
internal import Store
internal import ZeroMQ

/// The values that every part of a coordinator needs.
struct CoordinatorEnvironment {
    let callbacks: LoopCallbacks
    let store: StoreAccess
    /// Of the store; nil where it has none.
    let files: (any StoreMaintenance)?
    let configuration: CoordinatorConfiguration
    let runDirectory: RunDirectory
    /// Of this coordinator.
    let epoch: Int64
    let logger: Logger
    /// Of the coordinator; nil in tests.
    let lock: FileLock?
    /// Set where the coordinator must end.
    let loss: PresenceLoss

    var loop: PollLoop { callbacks.loop }

    init(
        loop: PollLoop, store: any CommandStore, files: (any StoreMaintenance)?,
        configuration: CoordinatorConfiguration, runDirectory: RunDirectory,
        epoch: Int64, logger: Logger, lock: FileLock? = nil, loss: PresenceLoss = PresenceLoss()
    ) {
        callbacks = LoopCallbacks(loop: loop)
        self.store = StoreAccess(store, callbacks: callbacks, logger: logger)
        self.files = files
        self.configuration = configuration
        self.runDirectory = runDirectory
        self.epoch = epoch
        self.logger = logger
        self.lock = lock
        self.loss = loss
    }
}
