import Commands
import Host

@testable import NetworkControl

/// A worker that moves bytes at given rates, and a controller that gets its report 4 times a second.
struct NetworkRig {
    var network: NetworkController
    var now = at(0)
    var transfers: [TransferSample] = []
    private var decisions = NetworkDecisions()
    private var counters: [LinkKey: [LinkCounter]] = [:]

    init(policy: NetworkPolicy = NetworkPolicy()) { network = NetworkController(policy: policy, seed: 1) }

    /// Advances by some seconds, in which the running transfers of each destination share a rate in bytes per
    /// second.
    @discardableResult mutating func run(_ seconds: Double, _ rates: [String: Double]) -> NetworkDecisions {
        for _ in 0..<Int(seconds * 4) {
            now += quarter
            for (name, rate) in rates {
                let running = transfers.indices.filter { transfers[$0].destination == destination(name) }
                var left = rate / 4
                for (done, index) in running.sorted(by: { pace($0) < pace($1) }).enumerated() {
                    let bytes = min(left / Double(running.count - done), pace(index) / 4)
                    left -= bytes
                    transfers[index].acknowledged += Int64(bytes)
                    count(transfers[index], Int64(bytes))
                }
            }
            network.report(worker: 1, transfers: transfers, counters: counters.values.flatMap { $0 }, now: now)
            decisions = network.tick(now: now)
        }
        return decisions
    }

    private func pace(_ index: Int) -> Double {
        pace(decisions, transfers[index].qos, key: transfers[index].key) ?? .infinity
    }

    private mutating func count(_ transfer: TransferSample, _ bytes: Int64) {
        if counters[transfer.key] == nil {
            counters[transfer.key] = ServiceClass.allCases.map {
                LinkCounter(
                    destination: transfer.destination, direction: transfer.direction, serviceClass: $0, bytes: 0)
            }
        }
        counters[transfer.key]?[transfer.qos.serviceClass.rawValue].bytes += bytes
    }

    func pace(
        _ decisions: NetworkDecisions, _ qos: QualityOfService, key: LinkKey = key("a")
    ) -> Double? {
        decisions.pacing.first { $0.key == key && $0.qos == qos }.map { Double($0.bytesPerSecond) }
    }
}
