import CLinux
import Commands
import Glibc

/// A slow, lossy, breakable link between two network namespaces of this process, for real TCP of the kernel.
///
/// ```
/// unshare -Urn LinkEmulator CONTROL.sock PLAN
/// ```
///
/// It makes a *client* and a *server* network and carries packets between them. PLAN is JSON:
///
/// ```
/// {"shaper": "auto",            tun (a TUN device on each side; everything below), tbf (tc on a veth pair: the shared
///                               rate only), auto (tun where /dev/net/tun may be opened)
///  "congestion": "cubic",       of both networks
///  "seed": 1,                   of what is lost
///  "uplink": LINK,              what all destinations share
///  "destinations": [LINK or null, …]}     number i, from 1, has the address 10.77.i.1, and a link of its own or none
/// ```
///
/// A LINK is `{"rate": bit/s or null, "delay": one way in seconds, "loss": 0…1, "queue": bytes, "blackout": false,
/// "resetEvery": count or null}` and counts IP packets: of 1,500 bytes, TCP carries 1,448. With `"resetEvery": 20` the
/// 20th, 40th, … SYN towards the servers is answered by RST in their stead. CONTROL.sock takes JSON lines and answers each with one:
///
/// ```
/// {"ask": "bed"}               where the networks are, and which shaper runs
/// {"ask": "links"}             counters of every link and direction
/// {"ask": "flows"}             what each TCP flow has sent towards the servers, in steps of 10 ms
/// {"change": "*" or "10.77.i.1", "direction": "up", "down" or neither for both, …members of LINK}
/// ```
///
/// It ends when the last connection to CONTROL.sock is closed, and takes along every process in its networks.
@main
enum EmulatorTool {
    static func main() {
        do {
            let arguments = CommandLine.arguments
            guard arguments.count == 3 else { throw Refusal("usage: LinkEmulator CONTROL.sock PLAN") }
            let plan = try Plan(JSONValue(parsing: Array(arguments[2].utf8)))
            let networks = try Networks(congestion: plan.congestion)
            let control = try ControlServer(path: arguments[1])
            let shaper: any Shaper =
                switch try plan.shaper.resolved() {
                case .tun: try PacketShaper(plan, networks)
                case .tbf: try TokenBucketShaper(plan, networks)
                }
            print(shaper.name)
            fflush(nil)
            try shaper.run(until: control) { request in
                try Desk(shaper: shaper, networks: networks, plan: plan).answer(request)
            }
            networks.empty()
        } catch {
            let line = Array("LinkEmulator: \(error)\n".utf8)
            _ = write(2, line, line.count)
            exit(1)
        }
    }
}

/// Why something was not done, in a sentence.
struct Refusal: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }

    /// The last system call's failure.
    static func system(_ what: String) -> Refusal { Refusal("\(what): \(String(cString: strerror(errno)))") }
}
