import Commands
import Glibc

/// The configuration of the networks and links; see ``EmulatorTool``.
struct EmulatorConfiguration {
    enum ShaperChoice: String {
        case auto, tun, tbf

        enum Resolved { case tun, tbf }

        func resolved() throws -> Resolved {
            switch self {
            case .tun: return .tun
            case .tbf: return .tbf
            case .auto: return access("/dev/net/tun", R_OK | W_OK) == 0 ? .tun : .tbf
            }
        }
    }

    var shaper: ShaperChoice
    var congestion: String
    var seed: UInt64
    var uplink: LinkShape
    var destinations: [LinkShape?]

    init(_ json: JSONValue) throws {
        let name = json["shaper"]?.string ?? "auto"
        guard let shaper = ShaperChoice(rawValue: name) else { throw Refusal("there is no shaper “\(name)”") }
        self.shaper = shaper
        congestion = json["congestion"]?.string ?? "cubic"
        seed = UInt64(json["seed"]?.integer ?? 1)
        uplink = try LinkShape().changed(by: json["uplink"] ?? [:])
        destinations = try (json["destinations"]?.elements ?? [.null]).map {
            $0 == .null ? nil : try LinkShape().changed(by: $0)
        }
        guard (1...250).contains(destinations.count) else { throw Refusal("a bed has 1 to 250 destinations") }
    }
}
