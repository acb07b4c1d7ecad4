package import Commands

extension SQLiteStore {
    package func apply(
        _ writes: [UploadWrite], group: CommitGroup, isRepetition: Bool
    ) throws(StoreError) -> [Result<UploadChange, StoreError>] {
        let number = try group.onlyShard()
        let now = clock.now()
        // Checked before the transaction begins, because other writers wait for its end.
        let checks = writes.map { $0.check(in: self, shard: number) }
        let shard = try self.shard(number)
        if writes.contains(where: \.addsBytes) { try shard.checkWALLimit(timeout: WriteTimeout.foreground) }
        return try shard.write { connection throws(StoreError) in
            guard connection.version >= Schema.firstWithRelations else { throw .uploadsNeedMigration(shard: number) }
            var results: [Result<UploadChange, StoreError>] = []
            for (write, check) in zip(writes, checks) {
                switch check {
                case .failure(let problem): results.append(.failure(problem))
                case .success(let digest):
                    if isRepetition, let made = write.change(madeOf: try connection.upload(write.id)) {
                        results.append(.success(made))
                    } else {
                        results.append(try connection.apply(write, digest: digest, now: now))
                    }
                }
            }
            return results
        }
    }

    package func upload(_ id: CommandID) throws(StoreError) -> Upload? {
        try readUploads(id.shard(of: shardCount)) { connection throws(StoreError) in try connection.upload(id) }
    }

    package func upload(idempotencyKey key: String) throws(StoreError) -> Upload? {
        for shard in 0..<shardCount {
            let found = try readUploads(shard) { connection throws(StoreError) in
                try connection.statement(.uploadByKey, key).first(Upload.init)
            }
            if let found { return found }
        }
        return nil
    }

    package func holder(of key: UniqueKey, shardByte: UInt8) throws(StoreError) -> CommandID? {
        try shard(router.shard(of: shardByte)).use { connection throws(StoreError) in
            let found = try connection.statement(.byUniqueKey, key.type, key.orderingKey, key.key)
                .first(UniqueKeyHolder.init)
            guard let found, !found.hasLapsed(at: clock.now()) || connection.isClockHeld else { return nil }
            return found.id
        }
    }

    package func uploadBody(_ id: CommandID) throws(StoreError) -> [UInt8]? {
        try readUploads(id.shard(of: shardCount)) { connection throws(StoreError) in
            try connection.statement(.uploadBody, id).first { $0.bytes(0) }
        }
    }

    package func uploads(
        shard: Int, state: UploadState?, order: CommandOrder, after: CommandID?, limit: Int
    ) throws(StoreError) -> [Upload] {
        let query: Query =
            switch (order, state) {
            case (.oldestFirst, .open): .openUploadsAfter
            case (.oldestFirst, _): .uploadsAfter
            case (.newestFirst, .open): .openUploadsBefore
            case (.newestFirst, _): .uploadsBefore
            }
        let end = order == .oldestFirst ? CommandID(high: 0, low: 0) : CommandID(high: .max, low: .max)
        return try readUploads(shard) { connection throws(StoreError) in
            var found: [Upload] = []
            var last = after ?? end
            while found.count < limit {
                let page = try connection.statement(query, last, limit).rows(Upload.init)
                found += page.filter { state == nil || $0.state == state }
                guard let next = page.last, page.count == limit else { break }
                last = next.id
            }
            return Array(found.prefix(limit))
        } ?? []
    }

    package func dueUploads(shard: Int, limit: Int) throws(StoreError) -> [Upload] {
        try readUploads(shard) { connection throws(StoreError) in
            try connection.statement(.dueUploads, clock.now(), limit).rows(Upload.init)
        } ?? []
    }

    package func isOlderThanSpool(shard: Int) throws(StoreError) -> Bool {
        try readUploads(shard) { connection throws(StoreError) in
            try connection.statement(.isOlderThanSpool).first { $0.int64(0) != 0 }
        } ?? false
    }

    package func noteSpoolCompared(shard: Int) throws(StoreError) {
        try self.shard(shard).write { connection throws(StoreError) in
            try connection.statement(.noteSpoolCompared).run()
        }
    }

    /// - Returns: nil in a shard of an earlier version, which has no uploads.
    private func readUploads<Value: Sendable>(
        _ number: Int, _ body: (Connection) throws(StoreError) -> Value?
    ) throws(StoreError) -> Value? {
        try shard(number).use { connection throws(StoreError) in
            connection.version < Schema.firstWithRelations ? nil : try body(connection)
        }
    }
}
