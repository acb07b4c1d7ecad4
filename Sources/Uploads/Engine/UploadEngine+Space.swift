internal import Commands
internal import Glibc
package import Host
internal import Logging
internal import Store
internal import Synchronization
package import UploadSpool

extension UploadEngine {
    /// Counts an upload that is created, where there is room for it and its token may have one more. It takes no room before
    /// its bytes arrive.
    /// - Parameter length: nil while it is not known.
    /// - Throws: `noSpace`, `tooMany`.
    func admit(_ upload: Upload, length: Int64?) async throws(UploadError) {
        let (free, account) = (try await freeSpace(), SpoolSpace.Account(upload.facts))
        try changeSpace(for: length ?? 1) { (space) throws(SpoolSpace.Refusal) in
            try space.check(length ?? 0, account, free: free, limits)
            try space.open(upload.id, account, limits, now: .now)
        }
    }

    /// Checks that an upload would be taken now, and counts nothing.
    /// - Throws: `noSpace`.
    func checkRoom(for facts: UploadFacts, length: Int64?) async throws(UploadError) {
        let free = try await freeSpace()
        try changeSpace(for: length ?? 1) { (space) throws(SpoolSpace.Refusal) in
            try space.check(length ?? 0, SpoolSpace.Account(facts), free: free, limits)
        }
    }

    /// Checks that there is room for a length that the client states only now.
    /// - Throws: `noSpace`.
    func checkRoom(for length: Int64, of upload: Upload) async throws(UploadError) {
        let free = try await freeSpace()
        let missing = length - space.withLock { $0.size(of: upload.id) }
        guard missing > 0 else { return }
        try changeSpace(for: missing) { (space) throws(SpoolSpace.Refusal) in
            try space.check(missing, SpoolSpace.Account(upload.facts), free: free, limits)
        }
    }

    /// Takes room for bytes that arrive, with blocks of the disk where it can set them aside.
    /// - Parameters:
    ///   - file: nil: the bytes are written at once.
    ///   - end: the offset after the bytes.
    ///   - limit: the size that the upload may have.
    /// - Throws: `noSpace`.
    func reserve(_ id: CommandID, _ file: SpoolFile?, to end: Int64, limit: Int64) async throws(UploadError) {
        guard space.withLock({ $0.size(of: id) < end }) else { return }
        let free = try await freeSpace()
        let before = try changeSpace(for: end) { (space) throws(SpoolSpace.Refusal) in
            try space.reserve(id, to: end, limit: limit, free: free, limits)
        }
        guard let file else { return }
        let size = space.withLock { $0.size(of: id) }
        do throws(UploadError) {
            let isAllocated = try await onDisk { () throws(SystemError) in try file.reserve(size) }
            if isAllocated { space.withLock { $0.allocated(id) } }
        } catch {
            space.withLock { $0.shrink(id, to: before) }
            throw error
        }
    }

    private func freeSpace() async throws(UploadError) -> Int64 {
        let free = try await onDisk { [spool] () throws(SystemError) in try spool.free }
        guard free.files > 1000 else {
            throw UploadError(.noSpace, "The file system of the spool has too few free inodes; remove files there.")
        }
        return free.bytes
    }

    private func changeSpace<Value: Sendable>(
        for needed: Int64, _ change: (inout SpoolSpace) throws(SpoolSpace.Refusal) -> Value
    ) throws(UploadError) -> Value {
        let result = space.withLock { space -> Result<Value, SpoolSpace.Refusal> in
            do throws(SpoolSpace.Refusal) { return .success(try change(&space)) } catch { return .failure(error) }
        }
        do throws(SpoolSpace.Refusal) { return try result.get() } catch { throw UploadError(error, needed: needed) }
    }
}

extension UploadError {
    /// - Parameter needed: bytes.
    fileprivate init(_ refusal: SpoolSpace.Refusal, needed: Int64) {
        switch refusal {
        case .quota(let available):
            self.init(
                .noSpace,
                "The spool has room for \(available) more bytes of uploads, and this one needs \(needed); wait until others "
                    + "are sent on, or raise the quota.")
        case .disk(let available):
            self.init(
                .noSpace,
                "The disk of the spool has room for \(available) more bytes of uploads, and this one needs \(needed); "
                    + "make room, or try later.")
        case .token(let available):
            self.init(
                .noSpace,
                "Uploads of this token may have \(available) more bytes in the spool, and this one needs \(needed); wait until "
                    + "others are sent on, or raise door.tokenQuota.")
        case .grant(let available):
            self.init(
                .noSpace,
                "Uploads of this token may have \(available) more bytes in the spool, and this one needs \(needed); send a "
                    + "smaller file, or ask for a token with more bytes.")
        case .openUploads(let max):
            self.init(
                .tooMany(wait: .seconds(60)),
                "This token has \(max) open uploads, which is the maximum; finish or delete some of them.")
        case .creations(let max, let wait):
            self.init(
                .tooMany(wait: wait),
                "This token has created \(max) uploads within a minute that have no bytes, which is the maximum; send their "
                    + "bytes, or wait.")
        }
    }
}

extension UploadEngine {
    /// - Throws: ``UploadError`` where the disk cannot be asked.
    package func spoolFigures() async throws(UploadError) -> SpoolFigures {
        let free = try await onDisk { [spool] () throws(SystemError) in try spool.free }
        let space = space.withLock { $0 }
        return SpoolFigures(
            used: space.used, promised: space.unallocated, free: free.bytes, floor: limits.minFree, quota: limits.quota)
    }

    /// Tells other processes the figures.
    package func reportFigures(to run: RunDirectory) async {
        do throws(UploadError) {
            let figures = try await spoolFigures()
            try await onDisk { () throws(SystemError) in try figures.write(to: run) }
        } catch {
            logger.debug("The figures of the spool cannot be told: \(error)")
        }
    }
}

extension SpoolFigures {
    /// Writes the figures for other processes. Blocks.
    fileprivate func write(to run: RunDirectory) throws(SystemError) {
        let path = Self.path(run)
        let file = try SpoolFile("\(path).new")
        let text = Array(json.text.utf8)
        try file.write(text, at: 0)
        try file.truncate(to: Int64(text.count))
        guard rename("\(path).new", path) == 0 else { throw SystemError("replace", path) }
    }
}
