package import Commands
package import Store

/// Compares the rows of uploads with their files in the spool. It changes nothing, and may run beside a door. All calls
/// block.
package struct SpoolCheck {
    /// The uploads of the shards that were compared.
    package struct Result: Sendable, Equatable {
        /// Uploads that receive bytes.
        package var open = 0
        /// Uploads that have all their bytes.
        package var complete = 0
        /// Open uploads by their routes.
        package var routes: [String: Int] = [:]
        /// Bytes that the rows have in the spool.
        package var bytes: Int64 = 0
        /// Uploads with fewer bytes in the spool than clients were told, by id.
        package var damaged: [Damage] = []
        /// Uploads whose bytes are all in the spool.
        package var sound = 0

        /// Open uploads whose files are missing.
        package var missing: [Upload] {
            damaged.filter { $0.size == nil && $0.upload.state == .open }.map(\.upload)
        }
        /// Whether the spool as a whole lacks what open uploads have there, as where its file system is not mounted.
        package var lacksAll: Bool { sound == 0 && !missing.isEmpty && damaged.allSatisfy { $0.size == nil } }

        /// Why a door does not start where ``lacksAll``.
        package func absence(of spool: SpoolDirectory) -> String {
            let count = missing.count
            return
                "The spool \(spool.path) has no file of the \(count) open upload\(count == 1 ? "" : "s") with bytes: mount its file "
                + "system and start again; where the files are lost, “sluice door --accept-lost-uploads” ends \(count == 1 ? "it" : "them")."
        }

        package init(open: Int = 0, complete: Int = 0, bytes: Int64 = 0, sound: Int = 0) {
            self.open = open
            self.complete = complete
            self.bytes = bytes
            self.sound = sound
        }
    }

    /// An upload with too few bytes.
    package struct Damage: Sendable, Equatable {
        package let upload: Upload
        /// Bytes in its file; nil where the file is missing.
        package let size: Int64?
    }

    /// The reason of an upload that a person has ended because its file was gone.
    package static let lostReason = "its file was lost with the spool"

    private let store: any CommandStore
    private let spool: SpoolDirectory

    package init(store: any CommandStore, spool: SpoolDirectory) {
        self.store = store
        self.spool = spool
    }

    /// The uploads of all shards that can be read.
    package func run() throws(StoreError) -> Result {
        var result = Result()
        for shard in 0..<store.shardCount {
            try store.ifUsable { () throws(StoreError) in try run(shard: shard, into: &result) }
        }
        return result
    }

    /// Ends open uploads whose files are missing, by a person's word.
    /// - Returns: those that were ended.
    @discardableResult
    package func endMissing() throws(StoreError) -> [CommandID] {
        var ended: [CommandID] = []
        for upload in try run().missing {
            let write = UploadWrite.end(
                upload.id, reason: Self.lostReason, due: store.clock.now() + UploadLimits.memory)
            let group = store.commitGroup(of: upload.id.shard(of: store.shardCount))
            if try store.apply([write], group: group)[0].get().isApplied { ended.append(upload.id) }
        }
        return ended
    }

    /// Adds the uploads of a shard to `result`.
    package func run(shard: Int, into result: inout Result) throws(StoreError) {
        var after: CommandID?
        while true {
            let page = try store.uploads(
                shard: shard, state: nil, order: .oldestFirst, after: after, limit: 1000)
            for upload in page { try check(upload, &result) }
            guard let last = page.last else { return }
            after = last.id
        }
    }

    private func check(_ upload: Upload, _ result: inout Result) throws(StoreError) {
        switch upload.state {
        case .open:
            result.open += 1
            if let route = upload.facts.route { result.routes[route, default: 0] += 1 }
        case .complete: result.complete += 1
        case .ended: return
        }
        guard upload.storage == .file, upload.offset > 0 else { return }
        result.bytes += upload.offset
        guard damage(of: upload) != nil else {
            result.sound += 1
            return
        }
        // The door may have deleted the bytes since the row was read.
        guard let now = try store.upload(upload.id), now.storage == .file, now.state != .ended,
            let damage = damage(of: now), try needsBytes(now)
        else { return }
        result.damaged.append(damage)
    }

    private func damage(of upload: Upload) -> Damage? {
        let size = spool.size(of: "\(upload.id)")
        return size.map { $0 < upload.offset } ?? true ? Damage(upload: upload, size: size) : nil
    }

    /// The door deletes the bytes of a command that has succeeded, and then writes that into the row.
    private func needsBytes(_ upload: Upload) throws(StoreError) -> Bool {
        guard let id = upload.command else { return true }
        guard let command = try store.command(id) else { return false }
        return command.status != .success
    }
}
