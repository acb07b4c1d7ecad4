import Commands

/// The payload that each TCP flow has sent to the servers, counted before any queue in steps of 10 ms.
/// Retransmissions count again.
struct FlowLedger {
    /// The length of a step in nanoseconds of CLOCK_MONOTONIC.
    static let step: Int64 = 10_000_000

    private struct Flow {
        var steps: [(number: Int64, bytes: Int64)] = []
    }

    private var flows: [UInt64: Flow] = [:]

    /// Counts a packet of IPv4 and ignores others.
    mutating func count(_ bytes: UnsafeRawPointer, length: Int, route: Int, at now: Int64) {
        let header = Int(bytes.load(as: UInt8.self) & 15) &* 4
        guard length >= header &+ 20, bytes.load(fromByteOffset: 9, as: UInt8.self) == 6 else { return }
        let payload = length &- header &- Int(bytes.load(fromByteOffset: header &+ 12, as: UInt8.self) >> 4) &* 4
        guard payload > 0 else { return }
        let ports = UInt64(UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: header, as: UInt32.self)))
        let number = now / Self.step
        let key = UInt64(route) << 32 | ports
        let last = { (flow: inout Flow) in
            if let index = flow.steps.indices.last, flow.steps[index].number == number {
                flow.steps[index].bytes &+= Int64(payload)
            } else {
                flow.steps.append((number, Int64(payload)))
            }
        }
        last(&flows[key, default: Flow()])
    }

    /// Every flow with its bytes after `since` (CLOCK_MONOTONIC in nanoseconds).
    func json(since: Int64) -> JSONValue {
        let first = since / Self.step
        return .array(
            flows.compactMap { key, flow in
                let steps = flow.steps[(flow.steps.firstIndex { $0.number >= first } ?? flow.steps.endIndex)...]
                guard !steps.isEmpty else { return nil }
                return [
                    "destination": .string("10.77.\(key >> 32 + 1).1"),
                    "clientPort": .integer(Int64(key >> 16 & 0xFFFF)), "serverPort": .integer(Int64(key & 0xFFFF)),
                    "steps": .array(steps.map { [.integer($0.number), .integer($0.bytes)] }),
                ]
            })
    }
}
