internal import Logging
internal import Membership
internal import Store

/// Renews the seat of a worker, and ends the worker that has lost it.
struct SeatUpkeep: Sendable {
    let seat: any HeldSeat
    let loss: PresenceLoss
    let logger: Logger
    /// Called where the worker must end.
    let stop: @Sendable () -> Void

    /// Call it four times a second.
    func run() {
        guard loss.error == nil else { return }
        do throws(StoreError) {
            if try seat.renew() {
                logger.warning("The lock file of this worker's seat was removed or replaced; it was made anew.")
            }
        } catch {
            // Without descriptors or room, the next call tries again.
            guard error.code == .missing else { return }
            end(error)
        }
    }

    /// Ends the worker where `body` finds that the store was moved.
    func orLoss<Value>(_ body: () throws(StoreError) -> Value) throws(StoreError) -> Value {
        do throws(StoreError) { return try body() } catch {
            if error.code == .moved { end(error) }
            throw error
        }
    }

    private func end(_ error: StoreError) {
        loss.set(error)
        stop()
    }
}
