import Commands
import Store
import Synchronization
import UploadSpool
import Uploads

/// The upload engine in memory: offsets, lengths, completion, digests and keys as its contract states them. Requests do
/// not take uploads over, and nothing expires.
final class FakeUploads: UploadService {
    enum Call: Hashable { case create, concatenate, upload, append, terminate }

    struct State {
        var uploads: [CommandID: Upload] = [:]
        /// In the order of their creation.
        var ids: [CommandID] = []
        var bytes: [CommandID: [UInt8]] = [:]
        var keys: [IdempotencyKey: CommandID] = [:]
        var failures: [Call: UploadError] = [:]
        var calls: [Call] = []
    }

    let limits: UploadLimits
    var now: Timestamp { .now }
    private let state = Mutex(State())

    /// - Parameter maxRowSize: -1: every upload has a file.
    init(maxSize: Int64 = 1 << 20, maxRowSize: Int = -1) {
        var limits = UploadLimits()
        limits.maxSize = maxSize
        limits.maxRowSize = maxRowSize
        self.limits = limits
    }

    var calls: [Call] { state.withLock(\.calls) }
    /// In the order of their creation.
    var all: [Upload] { state.withLock { state in state.ids.compactMap { state.uploads[$0] } } }
    func bytes(_ id: CommandID) -> [UInt8] { state.withLock { $0.bytes[id] ?? [] } }
    /// Lets each such call fail.
    func fail(_ call: Call, _ code: UploadError.Code) {
        state.withLock { $0.failures[call] = UploadError(code, "The test wants this error.") }
    }

    func repair(_ call: Call) { state.withLock { $0.failures[call] = nil } }

    /// The upload with an id, as it is; nil for none.
    func stored(_ id: CommandID) -> Upload? { state.withLock { $0.uploads[id] } }

    /// Makes an upload without a request.
    @discardableResult
    func insert(_ upload: Upload, bytes: [UInt8] = []) -> Upload {
        state.withLock {
            var upload = upload
            upload.offset = Int64(bytes.count)
            $0.uploads[upload.id] = upload
            $0.bytes[upload.id] = bytes
            return upload
        }
    }

    func create(_ facts: UploadFacts, length: Int64?, key: IdempotencyKey?) async throws(UploadError) -> Upload {
        try begin(.create)
        if let length, length > limits.maxSize {
            throw UploadError(.tooLarge(limit: limits.maxSize), "It is too large.")
        }
        let made: Result<Upload, UploadError> = state.withLock { state in
            if let key, let id = state.keys[key], let upload = state.uploads[id] {
                return upload.length == length || upload.state == .complete
                    ? .success(upload) : .failure(UploadError(.keyConflict, "The key belongs to another upload."))
            }
            var upload = Upload(id: CommandID(), length: length, facts: facts, createdAt: .now)
            upload.due = Timestamp(milliseconds: 1_767_225_600_000)
            state.uploads[upload.id] = upload
            state.bytes[upload.id] = []
            state.ids.append(upload.id)
            if let key { state.keys[key] = upload.id }
            return .success(upload)
        }
        return try made.get()
    }

    func store(_ facts: UploadFacts, _ bytes: [UInt8], key: IdempotencyKey?) async throws(UploadError) -> Upload {
        let upload = try await create(facts, length: Int64(bytes.count), key: key)
        guard upload.state == .open else { return upload }
        let request = UploadAppend(offset: 0, size: Int64(bytes.count), completion: .atEnd)
        do {
            let receive: @Sendable (any UploadReceiver) async throws -> Void = { receiver in
                bytes.withUnsafeBytes { receiver.add($0) }
                try await receiver.flush()
            }
            return try await append(request, to: upload.id, admits: { _ in true }, progress: { _ in }, receive)
        } catch {
            // Nothing remains of it.
            state.withLock { $0.uploads[upload.id] = nil }
            throw error
        }
    }

    func concatenate(
        _ parts: [CommandID], _ facts: UploadFacts, key: IdempotencyKey?
    ) async throws(UploadError) -> Upload {
        try begin(.concatenate)
        for id in parts where stored(id)?.facts.token != facts.token || stored(id) == nil {
            throw UploadError(.notFound, "There is no such upload.")
        }
        let made: Upload? = state.withLock { state in
            guard parts.allSatisfy({ state.uploads[$0]?.state == .complete }) else { return nil }
            let bytes = parts.flatMap { state.bytes[$0] ?? [] }
            var upload = Upload(id: CommandID(), length: Int64(bytes.count), facts: facts, createdAt: .now)
            upload.offset = Int64(bytes.count)
            upload.state = .complete
            upload.command = upload.id
            state.uploads[upload.id] = upload
            state.bytes[upload.id] = bytes
            return upload
        }
        guard let made else { throw UploadError(.unfinishedPart, "A part is not complete.") }
        return made
    }

    func upload(_ id: CommandID) async throws(UploadError) -> Upload {
        try begin(.upload)
        guard let upload = stored(id) else { throw UploadError(.notFound, "There is no such upload.") }
        return upload
    }

    func append(
        _ request: UploadAppend, to id: CommandID, admits: @Sendable (Upload) -> Bool,
        progress: @escaping @Sendable (Int64) -> Void,
        _ receive: @escaping @Sendable (any UploadReceiver) async throws -> Void
    ) async throws(UploadError) -> Upload {
        try begin(.append)
        if let known = stored(id), known.state != .ended, !admits(known) { return known }
        if request.isRepeat, request.size == 0, request.completion != .atEnd, let known = stored(id) { return known }
        var upload = try check(request, id)
        let known = request.isRepeat ? bytes(id) : []
        let receiver = FakeReceiver(room: (upload.length ?? limits.maxSize) - request.offset)
        var wasCut = false
        do { try await receive(receiver) } catch let error as UploadError { throw error } catch { wasCut = true }
        if let size = request.size, receiver.bytes.count < size { wasCut = true }
        if request.hasTrailingChecksum, wasCut {
            throw UploadError(.interrupted, "The request was cut.", offset: upload.offset)
        }
        if let checksum = receiver.checksum ?? request.checksum {
            guard !wasCut, FakeReceiver.crc32(receiver.bytes) == checksum.bytes else {
                throw UploadError(.checksumMismatch, "The bytes do not have the checksum.", offset: upload.offset)
            }
        }
        let more = receiver.bytes.dropFirst(known.count)
        let isWhole = !wasCut && request.completion == .atEnd || upload.state == .complete
        guard receiver.bytes.starts(with: known.prefix(receiver.bytes.count)),
            !isWhole || receiver.bytes.count >= known.count, more.isEmpty || upload.state == .open
        else { throw UploadError(.keyConflict, "The key belongs to other bytes.", offset: upload.offset) }
        if upload.state == .complete { return upload }
        upload.offset += Int64(more.count)
        // An upload of tus that has all its bytes is complete, even if its last request was cut.
        if !wasCut || request.completion == .atLength, try completes(request, upload) {
            upload.state = .complete
            upload.length = upload.offset
            upload.command = upload.facts.route.map { _ in id }
            upload.due = nil
        }
        state.withLock {
            $0.uploads[id] = upload
            $0.bytes[id, default: []] += more
        }
        guard !wasCut || upload.state == .complete else {
            throw UploadError(.interrupted, "The request was cut.", offset: upload.offset)
        }
        return upload
    }

    func terminate(_ id: CommandID) async throws(UploadError) {
        try begin(.terminate)
        guard var upload = stored(id) else { throw UploadError(.notFound, "There is no such upload.") }
        guard upload.state != .complete else { throw UploadError(.complete, "The upload has become a command.") }
        upload.state = .ended
        state.withLock {
            $0.uploads[id] = upload
            $0.bytes[id] = []
        }
    }

    private func check(_ request: UploadAppend, _ id: CommandID) throws(UploadError) -> Upload {
        guard var upload = stored(id) else { throw UploadError(.notFound, "There is no such upload.") }
        guard upload.state != .ended else { throw UploadError(.gone, "The upload has ended.") }
        if case .final = upload.facts.concatenation { throw UploadError(.isFinal, "The upload is final.") }
        if request.isRepeat { return upload }
        guard upload.state == .open else { throw UploadError(.complete, "The upload is complete.") }
        guard request.offset == upload.offset else {
            throw UploadError(.offsetMismatch(expected: upload.offset), "The upload is at \(upload.offset).")
        }
        if let length = request.length {
            guard upload.length ?? length == length else {
                throw UploadError(.inconsistentLength, "The upload has another length.")
            }
            upload.length = length
        }
        if let length = upload.length, let size = request.size, request.offset + size > length {
            throw UploadError(.tooLarge(limit: length), "The request goes beyond the length.")
        }
        return upload
    }

    private func completes(_ request: UploadAppend, _ upload: Upload) throws(UploadError) -> Bool {
        switch request.completion {
        case .atLength: return upload.offset == upload.length
        case .later: return false
        case .atEnd:
            guard upload.length ?? upload.offset == upload.offset else {
                throw UploadError(.inconsistentLength, "The upload ends before its length.")
            }
            return true
        }
    }

    private func begin(_ call: Call) throws(UploadError) {
        let failure = state.withLock { state in
            state.calls.append(call)
            return state.failures[call]
        }
        if let failure { throw failure }
    }
}
