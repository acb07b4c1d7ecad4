internal import Commands
internal import HTTPTypes
internal import Host
internal import Store
internal import Synchronization
internal import Uploads

extension UploadsResource {
    func createResumable(_ request: DoorRequest, _ dialect: ResumableDialect) async throws -> UploadReply {
        // URLSession adds the fields to each upload by itself. A form is taken whole: without a 104 its client does not
        // resume it.
        let isForm = UploadMediaType.read(request.fields) == UploadMediaType.form
        let writer = writer(dialect, request)
        let read: ResumableCreation?
        do throws(Problem) { read = try ResumableReader.creation(request.fields, dialect) } catch {
            throw writer.problem(error)
        }
        guard let creation = read else { return try await createPlain(request) }
        if isForm {
            guard creation.append.completion == .atEnd else {
                throw Problem(
                    .badRequest, "invalid-form", "A form is sent in one request; send it whole, or the file alone.")
            }
            return try await createPlain(request)
        }
        return try await reporting(writer) {
            let key = try key(request)
            var upload = try await service.create(
                try resumableFacts(creation, request, dialect), length: creation.length, key: key)
            do {
                var append = creation.append
                append.isRepeat = key != nil
                upload = try await receive(append, repeated(upload, key), writer, request)
            } catch let error as UploadError {
                let error = await endIfExceeded(error, upload)
                throw writer.problem(error, provided: 0, location: location(of: upload, after: error, request))
            }
            guard upload.state == .complete else { return writer.created(upload) }
            return writer.completed(upload, await completed(upload, request))
        }
    }

    func appendResumable(_ request: DoorRequest, _ dialect: ResumableDialect) async throws -> UploadReply {
        let writer = writer(dialect, request)
        return try await reporting(writer) {
            let append = try ResumableReader.append(request.fields, dialect)
            let check = appendCheck(request)
            let upload: Upload
            do {
                upload = try await receive(append, id(of: request), check, writer, request)
                if check.upload?.state == .complete { try await checkRepeated(append, upload, request) }
            } catch let error as UploadError {
                guard let before = check.upload else { throw error }
                throw writer.problem(await endIfExceeded(error, before), provided: append.offset)
            }
            guard upload.state == .complete else { return writer.appended(upload) }
            return writer.completed(upload, await completed(upload, request))
        }
    }

    func statusOfResumable(_ request: DoorRequest, _ dialect: ResumableDialect) async throws -> UploadReply {
        let writer = writer(dialect, request)
        do {
            return try writer.status(try await durable(find(request, or: .read), request))
        } catch let error as UploadError {
            throw writer.problem(error)
        }
    }

    /// Ends an upload whose client has sent more bytes than it has: it takes no more requests (draft -12, section 4.1.2).
    private func endIfExceeded(_ error: UploadError, _ upload: Upload) async -> UploadError {
        guard case .tooLarge(let limit) = error.code, limit == upload.length else { return error }
        do throws(UploadError) { try await service.terminate(upload.id) } catch { return error }
        return UploadError(
            .inconsistentLength,
            "The request brings more bytes than the \(limit) of the upload, which has ended; send the file anew.")
    }

    /// Checks an append to a complete upload. Its client may repeat the last one without bytes where it got no response.
    private func checkRepeated(_ append: UploadAppend, _ upload: Upload, _ request: DoorRequest) async throws {
        if append.offset == upload.offset, try await Self.isEmpty(request, size: append.size) { return }
        throw UploadError(.complete, "The upload is complete with \(upload.offset) bytes, and takes no more.")
    }

    /// Runs a POST, PUT or PATCH.
    private func reporting(
        _ writer: ResumableWriter, _ run: () async throws -> UploadReply
    ) async throws -> UploadReply {
        do {
            return try await run()
        } catch let error as UploadError {
            throw writer.problem(writer.problem(error))
        } catch let problem as Problem {
            throw writer.problem(problem)
        }
    }

    /// Takes the bytes of the request that creates an upload, after the 104 with its URL.
    private func receive(
        _ append: UploadAppend, _ upload: Upload, _ writer: ResumableWriter, _ request: DoorRequest
    ) async throws -> Upload {
        if upload.state == .complete, !append.isRepeat { return upload }
        if append.size == 0, append.completion == .later { return upload }
        // The client of a repeat could go on by the URL, before its bytes are compared with those of the upload.
        let isProved = upload.offset == 0 || !append.isRepeat
        if options.sendsInterimResponses, isProved, upload.state == .open, append.size != 0,
            let fields = writer.interim(upload)
        {
            try await request.sendInterim(.uploadResumptionSupported, fields)
        }
        return try await receive(append, upload.id, nil, writer, request)
    }

    /// Takes the bytes of a request, and states the durable offset meanwhile to a client that understands 104.
    private func receive(
        _ append: UploadAppend, _ id: CommandID, _ check: AppendCheck?, _ writer: ResumableWriter,
        _ request: DoorRequest
    ) async throws -> Upload {
        let take: Receive = { try await Self.send(request.body, to: $0) }
        guard options.sendsInterimResponses else { return try await self.append(append, to: id, checking: check, take) }
        let interim = InterimProgress { offset in
            guard let fields = writer.progress(offset) else { return }
            try await request.sendInterim(.uploadResumptionSupported, fields)
        }
        return try await interim.during { try await self.append(append, to: id, checking: check, progress: $0, take) }
    }

    private func resumableFacts(
        _ creation: ResumableCreation, _ request: DoorRequest, _ dialect: ResumableDialect
    ) throws(Problem) -> UploadFacts {
        try ContentCoding.check(request.fields)
        let type =
            UploadMediaType.read(request.fields) == UploadMediaType.partialUpload ? nil : request.fields[.contentType]
        var facts = try facts(
            .resumable, request, fileName: fileName(request.fields), contentType: type,
            route: try route(request, stated: nil))
        facts.digest = creation.digest
        facts.wantedDigest = DigestFields.wanted(request.fields)
        facts.interopVersion = dialect.version?.rawValue
        return facts
    }
}

/// Sends the durable offset of a long request in interim responses: after a second, and then ever less often. A client
/// that reads nothing before it has sent its body must not have its buffers filled.
struct InterimProgress: Sendable {
    private struct Pace {
        var last = MonotonicTime.now
        var interval = firstInterval
    }

    private static let firstInterval: Duration = .seconds(1)
    private static let maxInterval: Duration = .seconds(60)

    /// Sends one interim response.
    let send: @Sendable (Int64) async throws -> Void

    /// Runs a request. No interim response is sent after this returns: the final one may begin then.
    /// - Parameter body: gets a call that takes durable offsets, and does not block.
    func during(
        _ body: (@escaping @Sendable (Int64) -> Void) async throws -> Upload
    ) async throws -> Upload {
        let (offsets, source) = AsyncStream.makeStream(of: Int64.self, bufferingPolicy: .bufferingNewest(1))
        let pace = Mutex(Pace())
        let sender = Task { [send] in
            for await offset in offsets {
                // A client that is gone ends the request as well.
                do { try await send(offset) } catch { return }
            }
        }
        let result: Result<Upload, any Error>
        do {
            let upload = try await body { offset in
                let isDue = pace.withLock { pace in
                    let now = MonotonicTime.now
                    guard now - pace.last >= pace.interval else { return false }
                    pace = Pace(last: now, interval: min(pace.interval * 2, Self.maxInterval))
                    return true
                }
                if isDue { source.yield(offset) }
            }
            result = .success(upload)
        } catch {
            result = .failure(error)
        }
        source.finish()
        await sender.value
        return try result.get()
    }
}
