internal import Commands

/// The way through the ready commands of one destination: shard by shard, and in each by quality of service and
/// turn. Pure.
struct UnreachableScan: Sendable {
    struct Position: Sendable, Equatable {
        var shard: Int
        var qos: QualityOfService
        /// Excluded.
        var turn: Int64
    }

    let destination: Destination
    /// Why the commands are cancelled, in a sentence.
    let reason: String
    private let shards: Int
    private var shard = 0
    private var qos = 0
    private var turn: Int64 = 0

    init(of destination: Destination, shards: Int, reason: String) {
        self.destination = destination
        self.shards = shards
        self.reason = reason
    }

    /// Where to read next; nil at the end.
    var position: Position? {
        shard < shards ? Position(shard: shard, qos: QualityOfService.allCases[qos], turn: turn) : nil
    }

    /// - Parameters:
    ///   - turn: of the last command that was read.
    ///   - hasMore: commands of the same shard and quality of service may follow that have to be read.
    mutating func advance(behind turn: Int64?, hasMore: Bool) {
        if hasMore, let turn {
            self.turn = turn
            return
        }
        self.turn = 0
        qos += 1
        if qos == QualityOfService.allCases.count { skipShard() }
    }

    mutating func skipShard() {
        turn = 0
        qos = 0
        shard += 1
    }
}
