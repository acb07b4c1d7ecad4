internal import Synchronization

/// Why a coordinator or a worker must end: the files that prove its presence were removed. The first reason
/// stays.
package final class PresenceLoss: Sendable {
    private let reason = Mutex<StoreError?>(nil)

    package init() {}

    package var error: StoreError? { reason.withLock { $0 } }

    package func set(_ error: StoreError) { reason.withLock { $0 = $0 ?? error } }
}
