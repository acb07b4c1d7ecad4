internal import Commands

/// The rules of each change, for all stores.
extension Upload {
    /// - Returns: false where the state does not allow the change; nothing is changed then.
    mutating func apply(_ write: UploadWrite, command: CommandID?, now: Timestamp) -> Bool {
        switch write {
        case .create, .store, .remove: return false
        case .advance(_, let offset, let length, let due):
            guard state == .open, offset >= self.offset, allows(length), offset <= (length ?? self.length ?? offset)
            else { return false }
            self.offset = offset
            self.length = length ?? self.length
            self.due = due
        case .complete(_, let length, _, let due, let sha256):
            guard state == .open, allows(length), length >= offset else { return false }
            state = .complete
            (offset, self.length, self.command, self.due) = (length, length, command, due)
            if let sha256 { fingerprint?.content = sha256 }
        case .end(_, let reason, let due):
            guard state != .ended, self.command == nil else { return false }
            state = .ended
            (self.reason, self.due) = (reason, due)
            // A repeated request makes a new one.
            idempotencyKey = nil
        case .dropBytes:
            guard state != .open else { return false }
            storage = .none
        case .postpone(_, let due): self.due = due
        }
        updatedAt = max(updatedAt, now)
        return true
    }

    private func allows(_ length: Int64?) -> Bool { length == nil || self.length == nil || length == self.length }
}
