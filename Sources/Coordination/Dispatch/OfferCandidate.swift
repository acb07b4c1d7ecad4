internal import Commands
internal import Host
internal import Store
internal import Wire

/// A worker while offers are chosen for it. Pure.
struct OfferCandidate {
    let record: WorkerRecord
    private let highRoom: Int
    private let otherRoom: Int
    private let slots: Int
    private let extraRoom: Int
    private var suspects: Int
    private(set) var offers: [Offers.Offer] = []
    private var highOffers = 0
    private var extraOffers = 0
    private var pacedOffers = (high: 0, others: 0)

    init(_ record: WorkerRecord, now: MonotonicTime) {
        self.record = record
        highRoom = record.room(.high, now: now)
        otherRoom = record.room(.middle, now: now)
        slots = record.freeSlots(now: now)
        extraRoom = record.extraRoom
        suspects = record.suspects.count
    }

    func room(_ serviceClass: ServiceClass) -> Int {
        let ordinary = offers.count - extraOffers
        let all = highRoom - ordinary
        return serviceClass == .high ? all : min(otherRoom - (ordinary - highOffers), all)
    }

    var freeExtras: Int { extraRoom - extraOffers }
    var freeSlots: Int { slots - (offers.count - extraOffers - highOffers) }
    var isIdle: Bool { freeSlots > 0 }

    /// Room for commands of a class that a rate limit holds for (``WorkerRecord/freePacedSlots(_:)``).
    func pacedRoom(_ serviceClass: ServiceClass) -> Int {
        let offered = serviceClass == .high ? pacedOffers.high : pacedOffers.others
        return min(room(serviceClass), record.freePacedSlots(serviceClass) - offered)
    }

    func accepts(_ subQueue: ReadyQueue.SubQueue) -> Bool {
        record.types.contains(subQueue.type) && (!subQueue.suspect || suspects < WorkerRecord.maxSuspects)
    }

    /// The worker can run the command, and has room for its class.
    /// - Parameter isPaced: a rate limit holds for it.
    func hasRoom(for command: ReadyCommand, isPaced: Bool) -> Bool {
        let serviceClass = command.qos.serviceClass
        return accepts(ReadyQueue.SubQueue(command)) && (isPaced ? pacedRoom(serviceClass) : room(serviceClass)) > 0
    }

    mutating func add(_ offer: Offers.Offer, isPaced: Bool) {
        offers.append(offer)
        if offer.isExtra { extraOffers += 1 } else if offer.qos.serviceClass == .high { highOffers += 1 }
        if offer.suspect { suspects += 1 }
        if isPaced, !offer.isExtra {
            if offer.qos.serviceClass == .high { pacedOffers.high += 1 } else { pacedOffers.others += 1 }
        }
    }
}
