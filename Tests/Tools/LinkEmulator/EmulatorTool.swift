import CLinux
import Commands
import Glibc

/// Emulates a link between two network namespaces for the TCP of the kernel: with rate, delay, loss and
/// blackouts.
///
/// ```
/// unshare -Urn LinkEmulator CONTROL.sock CONFIGURATION
/// ```
///
/// The program makes a *client* and a *server* network and carries packets between them. CONFIGURATION is
/// JSON:
///
/// ```
/// {"shaper": "auto",            tun (a TUN device on each side; supports every property), tbf (tc on a veth pair:
///                               limits the shared rate only), auto (tun if the process may open /dev/net/tun)
///  "congestion": "cubic",       the congestion control of both networks
///  "seed": 1,                   the seed of the losses
///  "uplink": LINK,              the link that all destinations share
///  "destinations": [LINK or null, …]}     number i, from 1, has the address 10.77.i.1; null for no link of its own
/// ```
///
/// A LINK is `{"rate": bit/s or null, "delay": one way in seconds, "loss": 0…1, "queue": bytes, "blackout": false,
/// "resetEvery": count or null}`. Its rate counts IP packets: of 1,500 bytes TCP carries 1,448. With `"resetEvery": 20`
/// the emulator answers the 20th, 40th, … SYN to the servers with RST. CONTROL.sock takes JSON lines and answers each
/// with one:
///
/// ```
/// {"ask": "bed"}               the descriptors of the networks, and the shaper
/// {"ask": "links"}             the counters of every link and direction
/// {"ask": "flows"}             the bytes that each TCP flow has sent to the servers, in steps of 10 ms
/// {"change": "*" or "10.77.i.1", "direction": "up", "down" or neither for both, …members of LINK}
/// ```
///
/// The program ends when the last connection to CONTROL.sock is closed, and ends every process in its
/// networks.
@main
enum EmulatorTool {
    static func main() {
        do {
            let arguments = CommandLine.arguments
            guard arguments.count == 3 else { throw Refusal("usage: LinkEmulator CONTROL.sock CONFIGURATION") }
            let configuration = try EmulatorConfiguration(JSONValue(parsing: Array(arguments[2].utf8)))
            let networks = try Networks(congestion: configuration.congestion)
            let control = try ControlServer(path: arguments[1])
            let shaper: any Shaper =
                switch try configuration.shaper.resolved() {
                case .tun: try PacketShaper(configuration, networks)
                case .tbf: try TokenBucketShaper(configuration, networks)
                }
            print(shaper.name)
            fflush(nil)
            try shaper.run(until: control) { request in
                try ControlResponder(shaper: shaper, networks: networks, configuration: configuration).answer(request)
            }
            networks.empty()
        } catch {
            let line = Array("LinkEmulator: \(error)\n".utf8)
            _ = write(2, line, line.count)
            exit(1)
        }
    }
}
