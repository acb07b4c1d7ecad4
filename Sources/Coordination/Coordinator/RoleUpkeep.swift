internal import Logging
internal import Membership
internal import Store
internal import ZeroMQ

/// Renews the coordinator's role, and binds its sockets anew where their files were removed. Confined to the loop.
final class RoleUpkeep {
    private let environment: CoordinatorEnvironment
    private let sockets: SocketBinder
    /// The last error that was logged.
    private var logged = ""

    private var logger: Logger { environment.logger }

    init(_ environment: CoordinatorEnvironment, sockets: SocketBinder) {
        self.environment = environment
        self.sockets = sockets
    }

    /// Call it four times a second.
    func run() {
        do throws(StoreError) {
            if try environment.role.renew() {
                logger.warning("The lock file of the coordinator was removed or replaced; it was made anew.")
            }
        } catch {
            guard error.code != .missing else { return environment.loss.set(error) }
            log("The lock file of the coordinator cannot be made anew: \(error.message)")
        }
        do throws(ZeroMQError) {
            let names = try sockets.bindMissing()
            guard !names.isEmpty else { return }
            logger.warning(
                "Sockets were removed or replaced; they were bound anew.",
                metadata: ["sockets": "\(names.joined(separator: ", "))"])
        } catch {
            log("A socket that was removed cannot be bound anew: \(error)")
        }
    }

    private func log(_ sentence: String) {
        guard sentence != logged else { return }
        logged = sentence
        logger.error("\(sentence)")
    }
}
