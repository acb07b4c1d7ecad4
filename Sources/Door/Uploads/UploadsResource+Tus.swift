internal import Commands
internal import HTTPTypes
internal import Store
internal import Uploads

extension UploadsResource {
    func createTus(_ request: DoorRequest) async throws -> UploadReply {
        try await reportingTus {
            switch try TusReader.creation(request.fields) {
            case .create(let creation): try await create(creation, request)
            case .concatenate(let ids, let metadata): try await concatenate(ids, metadata, request)
            }
        }
    }

    func appendTus(_ request: DoorRequest) async throws -> UploadReply {
        try await reportingTus {
            let append = try TusReader.append(request.fields)
            let check = appendCheck(request) { upload in
                if case .final = upload.facts.concatenation { throw TusReader.bodyOfFinal }
            }
            let upload = try await self.append(append, to: id(of: request), checking: check, body(append, request))
            guard check.upload?.state == .complete else { return await appended(upload, request) }
            let isEmpty = try await Self.isEmpty(request, size: append.size)
            return try await answerComplete(append, upload, isEmpty: isEmpty, request)
        }
    }

    func statusOfTus(_ request: DoorRequest) async throws -> UploadReply {
        try await reportingTus(isHead: true) {
            let upload = try await find(request, or: .read)
            return try tusWriter(request).status(try await finished(durable(upload, request), request))
        }
    }

    func terminateTus(_ request: DoorRequest) async throws -> UploadReply {
        try await reportingTus {
            try TusReader.checkVersion(request.fields)
            let upload = try await find(request, or: .control)
            try await service.terminate(upload.id)
            return TusWriter.terminated
        }
    }

    /// Answers HEAD without a field that names a protocol, with the fields of all.
    func statusForAll(_ request: DoorRequest) async throws -> UploadReply {
        try await reportingTus(isHead: true) {
            let found = try await find(request, or: .read)
            let others = writer(ResumableDialect(nil), request)
            let upload: Upload
            do {
                upload = try await durable(found, request)
            } catch let error as UploadError where found.facts.origin == .resumable {
                // Clients of the draft ask again after 5xx, and after 4xx they give up.
                throw others.problem(error)
            }
            // A client of the draft may have sent all bytes, and still has to complete the upload. It learns so here; a
            // tus client finds no length, and does not take the offset for success.
            if upload.facts.origin != .tus, upload.state == .open, upload.offset == upload.length {
                var reply = try others.status(upload)
                reply.status = .ok
                reply.fields[.uploadLength] = nil
                return reply
            }
            let whole = try await finished(upload, request)
            var reply = try tusWriter(request).status(whole)
            for field in others.fields(whole) { reply.fields[field.name] = field.value }
            return reply
        }
    }

    /// An upload whose bytes so far are durable: the request that sends them is stopped, since its client asks for the
    /// offset only after it has lost the connection. A token that does not send the upload stops none, and a request that
    /// cannot be resumed goes on.
    func durable(_ upload: Upload, _ request: DoorRequest) async throws -> Upload {
        guard upload.state == .open, upload.facts.origin.isResumable, isOwn(upload, request.principal) else {
            return upload
        }
        return try await service.upload(upload.id)
    }

    /// Completes a tus upload that has all its bytes and whose completion has failed: HEAD may not say that it is
    /// complete before, and its client sends nothing more.
    private func finished(_ upload: Upload, _ request: DoorRequest) async throws -> Upload {
        guard upload.facts.origin == .tus, upload.state == .open, upload.offset == upload.length,
            isOwn(upload, request.principal)
        else { return upload }
        let empty = UploadAppend(offset: upload.offset, size: 0, completion: .atLength)
        return try await append(empty, to: upload.id) { _ in }
    }

    private func create(_ creation: TusRequest.Creation, _ request: DoorRequest) async throws -> UploadReply {
        var facts = try tusFacts(creation.metadata, request, isPartial: creation.isPartial)
        if creation.isPartial { facts.concatenation = .partial }
        facts.digest = try DigestFields.read(.reprDigest, request.fields)
        let key = try key(request)
        var upload = try await service.create(facts, length: creation.length, key: key)
        do {
            upload = try await repeated(upload, key)
            if upload.state == .ended { throw UploadError(.gone, upload.reason ?? "The upload has ended.") }
            if var append = creation.append, upload.state == .open || key != nil {
                append.isRepeat = key != nil
                upload = try await self.append(append, to: upload.id, body(append, request))
            } else if upload.state == .open, creation.length == 0 {
                // Clients send no PATCH to an upload without bytes.
                let empty = UploadAppend(offset: 0, size: 0, completion: .atLength)
                upload = try await append(empty, to: upload.id) { _ in }
            }
        } catch let error as UploadError {
            throw TusWriter.problem(error, location: location(of: upload, after: error, request))
        } catch var problem as Problem {
            problem.fields[.location] = location(request)(upload.id)
            throw problem
        }
        var reply = tusWriter(request).created(upload, hasBody: creation.append != nil)
        reply.fields[.reprDigest] = await wantedDigest(of: upload, request)
        return reply
    }

    private func concatenate(
        _ ids: [CommandID], _ metadata: TusMetadata?, _ request: DoorRequest
    ) async throws -> UploadReply {
        guard try await Self.isEmpty(request, size: try BodySize.read(request.fields)) else {
            throw TusReader.bodyOfFinal
        }
        var facts = try tusFacts(metadata, request)
        facts.concatenation = .final(ids)
        let final = try await service.concatenate(ids, facts, key: try key(request))
        return tusWriter(request).created(final, hasBody: false)
    }

    /// Answers an append to a complete upload. Its client sends the last bytes again where it got no response.
    private func answerComplete(
        _ append: UploadAppend, _ upload: Upload, isEmpty: Bool, _ request: DoorRequest
    ) async throws(UploadError) -> UploadReply {
        guard append.offset == upload.offset else {
            throw UploadError(
                .offsetMismatch(expected: upload.offset),
                "The request begins at \(append.offset), and the upload is complete with \(upload.offset) bytes.")
        }
        guard isEmpty else {
            throw UploadError(
                .tooLarge(limit: upload.offset), "The upload is complete with \(upload.offset) bytes; send no more.")
        }
        return await appended(upload, request)
    }

    private func appended(_ upload: Upload, _ request: DoorRequest) async -> UploadReply {
        var reply = tusWriter(request).appended(upload)
        reply.fields[.reprDigest] = await wantedDigest(of: upload, request)
        return reply
    }

    private func tusFacts(
        _ metadata: TusMetadata?, _ request: DoorRequest, isPartial: Bool = false
    ) throws(Problem) -> UploadFacts {
        let route = try route(request, stated: metadata?.route, isRequired: !isPartial)
        var facts = try facts(
            .tus, request, fileName: metadata?.fileName, contentType: metadata?.contentType, route: route)
        facts.metadata = metadata?.text
        facts.wantedDigest = DigestFields.wanted(request.fields)
        return facts
    }

    /// Reads the body, and the checksum in its trailers.
    private func body(_ append: UploadAppend, _ request: DoorRequest) -> Receive {
        { receiver in
            try await Self.send(request.body, to: receiver)
            if append.hasTrailingChecksum { receiver.setChecksum(try TusChecksum.read(trailers: request.trailers())) }
        }
    }

    private func tusWriter(_ request: DoorRequest) -> TusWriter { TusWriter(location: location(request)) }

    private func reportingTus(isHead: Bool = false, _ run: () async throws -> UploadReply) async throws -> UploadReply {
        do {
            return try await run()
        } catch let error as UploadError {
            throw TusWriter.problem(error, isHead: isHead)
        } catch let problem as Problem {
            throw TusWriter.problem(problem)
        }
    }
}
