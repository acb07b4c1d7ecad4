internal import Commands
internal import Host
internal import NetworkControl
internal import Store

extension Dispatcher {
    /// Why the commands of a queue cannot start, for the reason of one whose deadline passes; nil where nothing but its turn
    /// is known.
    func cause(ofWait key: ReadyKey, now: MonotonicTime) -> String? {
        let destination = key.destination
        if admission.pauses.covers(destination, key.qos) { return "it was paused" }
        if let outage = links.controller.circuitBreakers[destination]?.outage {
            return "the circuit breaker of \(destination) is open: \(outage.reason)"
        }
        for direction in Direction.allCases {
            guard let breaker = links.controller.links[LinkKey(destination, direction)]?.circuitBreaker,
                !breaker.isClosed
            else { continue }
            return "\(destination) could not be reached" + (breaker.reason?.text.map { ": \($0)" } ?? "")
        }
        let lacking: RateLimits.Name? = rates.isEmpty && key.limit == nil ? nil : rates.lacking(for: key, now: now)
        switch lacking {
        case .limit(let name) where rates.definitions[.limit(name)] == nil:
            return "the rate limit “\(name)” does not exist"
        case .limit(let name): return "it waited for the rate limit “\(name)”"
        case .destination: return "it waited for the starts of \(destination)"
        case nil: return nil
        }
    }
}
