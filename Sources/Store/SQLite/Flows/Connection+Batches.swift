internal import Commands

/// The rows of the parts of batches.
extension Connection {
    func part(of batch: CommandID) throws(StoreError) -> BatchPart? {
        try statement(.partOfBatch, batch).first(BatchPart.init)
    }

    func part(_ number: Int64) throws(StoreError) -> BatchPart? {
        try statement(.partByNumber, number).first(BatchPart.init)
    }

    func parts(after number: Int64, limit: Int) throws(StoreError) -> [BatchPart] {
        try statement(.partsAfter, number, limit).rows(BatchPart.init)
    }

    func save(_ part: BatchPart) throws(StoreError) {
        if part.number == 0 {
            try statement(.insertPart, part.batch).run()
        } else {
            try statement(.savePart, part.number, part.members, part.open, part.failed, part.stateColumn).run()
        }
    }

    func remove(_ part: BatchPart) throws(StoreError) { try statement(.removePart, part.number).run() }

    func members(of batch: CommandID, after turn: Int64, limit: Int) throws(StoreError) -> [Int64] {
        try statement(.membersOf, batch, turn, limit).rows { $0.int64(0) }
    }
}

extension BatchPart {
    fileprivate init(_ row: Statement) throws(StoreError) {
        try self.init(
            number: row.int64(0), batch: try row.id(1), members: row.int(2), open: row.int(3), failed: row.int(4),
            stateColumn: row.int(5))
    }

    init(
        number: Int64, batch: CommandID, members: Int, open: Int, failed: Int, stateColumn column: Int
    ) throws(StoreError) {
        guard let state = State(rawValue: column & 0xFF) else {
            throw StoreError(.corrupt, "a part of a batch has the state \(column)")
        }
        self.init(
            number: number, batch: batch, members: members, open: open, failed: failed, state: state,
            minQoS: QualityOfService(rawValue: (column >> 8) - 1))
    }

    /// The state, and 256 times the number of the quality of service and one.
    var stateColumn: Int { state.rawValue + 256 * (minQoS.map { $0.rawValue + 1 } ?? 0) }
}
