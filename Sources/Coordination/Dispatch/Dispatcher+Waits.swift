internal import Commands
internal import Host
internal import NetworkControl
internal import Store
internal import Wire

extension Dispatcher {
    /// The slots of this host.
    /// - Parameter isFull: no seat has an ordinary slot free.
    func host(isFull: Bool, freeExtras: Int, now: MonotonicTime) -> Admission.Host {
        let ready = seats.values.filter(\.takesOffers)
        var host = Admission.Host()
        host.slots = ready.reduce(0) { $0 + $1.concurrency }
        host.window = ready.reduce(0) { $0 + $1.window }
        host.workers = ready.count
        host.maxTransfers = links.policy.globalLimit
        host.isFull = isFull
        host.freeExtras = freeExtras
        admission.fill(&host, now: now)
        return host
    }

    /// Which rule would hold back the next command of each quality of service to a destination, as slots are
    /// held now.
    func waits(at destination: Destination, now: MonotonicTime) -> [QualityOfService: AdmissionWait] {
        let ready = seats.values.filter(\.takesOffers)
        guard !ready.isEmpty else { return [:] }
        let freeExtras = ready.reduce(0) { $0 + $1.extraRoom }
        let isFull = ready.allSatisfy { $0.freeSlots(now: now) <= 0 }
        let isFullForHigh = ready.allSatisfy { $0.room(.high, now: now) <= 0 }
        var host = host(isFull: isFull, freeExtras: freeExtras, now: now)
        var waits: [QualityOfService: AdmissionWait] = [:]
        for qos in QualityOfService.allCases {
            let serviceClass = qos.serviceClass
            host.isFull = serviceClass == .high ? isFullForHigh : isFull
            let group = ReadyQueue.Group(destination: destination, serviceClass: serviceClass)
            let request = Admission.Request(qos: qos, isContested: queue.isContested(group))
            let load = load(ReadyKey(destination: destination, qos: qos), now: now)
            if case .waits(let wait) = Admission.verdict(request, load, host) {
                waits[qos] = wait
            } else if rates.lacking(for: ReadyKey(destination: destination, qos: qos), now: now) != nil {
                waits[qos] = AdmissionWait(.starts)
            }
        }
        return waits
    }
}
