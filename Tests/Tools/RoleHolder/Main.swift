import Commands
import Glibc
import Host
import Membership
import Store
import ZeroMQ

/// A process that has a role of an installation until it is killed, and gives signs of life.
///
/// ```
/// RoleHolder DATA coordinator|door
/// RoleHolder DATA coordinator intake     with its socket for hints
/// RoleHolder DATA seats COUNT     prints SEAT EPOCH START-TIME of each
/// ```
/// It prints `ready` when it has the role.
@main enum RoleHolder {
    static func main() throws {
        let arguments = CommandLine.arguments
        guard arguments.count > 2 else {
            print("usage: RoleHolder DATA coordinator|door|seats …")
            exit(64)
        }
        let presence = DataDirectory(path: arguments[1]).presence
        var roles: [any HeldRole] = []
        switch arguments[2] {
        case "coordinator":
            roles.append(try presence.takeCoordination(now: .now))
            if arguments.count > 3 { try bindIntake(DataDirectory(path: arguments[1]).endpoints) }
        case "door": roles.append(try presence.takeDoor())
        default:
            raiseDescriptorLimit()
            for _ in 0..<(arguments.count > 3 ? Int(arguments[3]) ?? 1 : 1) {
                let seat = try presence.takeSeat()
                print(seat.session.seat, seat.session.epoch, seat.session.startTime)
                roles.append(seat)
            }
        }
        print("ready")
        fflush(nil)
        while true {
            for role in roles { _ = try role.renew() }
            usleep(50_000)
        }
    }

    /// A socket for as long as the process lives.
    private final class BoundSocket {
        let socket: Socket

        init(_ socket: consuming Socket) { self.socket = socket }
    }

    private static func bindIntake(_ endpoints: any Endpoints) throws {
        let (open, loop) = (try endpoints.open(), try PollLoop(name: "intake"))
        loop.perform {
            guard let socket = try? open.bind(.pull, as: .intake, options: .init(), on: loop) else { exit(1) }
            _ = Unmanaged.passRetained(BoundSocket(socket))
        }
        while endpoints.problem(of: .intake) != nil { usleep(1000) }
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
