import Foundation
import GRDBSQLite
import Synchronization

/// A virtual file system of SQLite that forwards every call to the default one. It records writes and syncs in order,
/// or lets calls fail, as on a full or broken disk.
final class RecordingVFS: Sendable {
    enum Record: Sendable {
        case write(file: String, offset: Int, bytes: [UInt8])
        case truncate(file: String, size: Int)
        case sync(file: String)
        /// A mark that the test sets at this point.
        case mark(Int)
    }

    enum Operation: Sendable { case read, write, sync }

    /// An operation that fails on the files whose path starts with `path`, and the code of SQLite that it returns.
    struct Failure: Sendable {
        var operation: Operation
        var code: CInt
        var path = ""
    }

    private struct State {
        var records: [Record] = []
        var failure: Failure?
    }

    let name: String
    private let state = Mutex(State())

    init(_ name: String) {
        self.name = name
        Self.register(self)
    }

    var records: [Record] { state.withLock { $0.records } }
    func mark(_ number: Int) { record(.mark(number)) }
    /// The operation that fails from now on; nil: none.
    func setFailure(_ failure: Failure?) { state.withLock { $0.failure = failure } }

    fileprivate func failure(of operation: Operation, on path: String) -> CInt? {
        state.withLock { state in
            guard let failure = state.failure, failure.operation == operation, path.hasPrefix(failure.path) else {
                return nil
            }
            return failure.code
        }
    }

    fileprivate func record(_ record: Record) { state.withLock { $0.records.append(record) } }

    // MARK: SQLite's interface

    /// The part before the real file in the memory that SQLite provides for an open file.
    private struct Head {
        var methods: UnsafePointer<sqlite3_io_methods>?
        var recorder: Unmanaged<RecordingVFS>
        var name: Unmanaged<Name>
    }

    private final class Name {
        let path: String
        init(_ path: String) { self.path = path }
    }

    private static let headSize = (MemoryLayout<Head>.size + 15) & ~15

    private static func head(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<Head> {
        UnsafeMutableRawPointer(file!).assumingMemoryBound(to: Head.self)
    }

    private static func real(_ file: UnsafeMutablePointer<sqlite3_file>?) -> UnsafeMutablePointer<sqlite3_file> {
        UnsafeMutableRawPointer(file!).advanced(by: headSize).assumingMemoryBound(to: sqlite3_file.self)
    }

    private static func recorder(_ file: UnsafeMutablePointer<sqlite3_file>?) -> (RecordingVFS, String) {
        let head = head(file).pointee
        return (head.recorder.takeUnretainedValue(), head.name.takeUnretainedValue().path)
    }

    /// Registered for the life of the process, because SQLite may still refer to it.
    private static func register(_ recorder: RecordingVFS) {
        guard let base = sqlite3_vfs_find(nil) else { return }
        let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
        vfs.initialize(to: base.pointee)
        vfs.pointee.pNext = nil
        vfs.pointee.zName = UnsafePointer(strdup(recorder.name))
        vfs.pointee.szOsFile = base.pointee.szOsFile + Int32(headSize)
        vfs.pointee.pAppData = Unmanaged.passRetained(recorder).toOpaque()
        vfs.pointee.xOpen = { vfs, name, file, flags, outFlags in
            guard let base = sqlite3_vfs_find("unix"), let open = base.pointee.xOpen, let vfs,
                let data = vfs.pointee.pAppData
            else { return SQLITE_CANTOPEN }
            let code = open(base, name, RecordingVFS.real(file), flags, outFlags)
            let path = name.map { String(cString: $0) } ?? ""
            RecordingVFS.head(file).initialize(
                to: Head(
                    methods: RecordingVFS.real(file).pointee.pMethods == nil ? nil : RecordingVFS.methods.pointer,
                    recorder: Unmanaged.fromOpaque(data), name: Unmanaged.passRetained(Name(path))))
            return code
        }
        sqlite3_vfs_register(vfs, 0)
    }

    /// Never changed after its creation.
    private struct Methods: @unchecked Sendable {
        let pointer: UnsafePointer<sqlite3_io_methods>
    }

    private static let methods: Methods = {
        let methods = UnsafeMutablePointer<sqlite3_io_methods>.allocate(capacity: 1)
        var table = sqlite3_io_methods()
        // 2: with shared memory, without memory-mapped files.
        table.iVersion = 2
        table.xClose = { file in
            let code = real(file).pointee.pMethods.pointee.xClose(real(file))
            head(file).pointee.name.release()
            return code
        }
        table.xRead = { file, bytes, count, offset in
            let (recorder, name) = recorder(file)
            if let code = recorder.failure(of: .read, on: name) { return code }
            return real(file).pointee.pMethods.pointee.xRead(real(file), bytes, count, offset)
        }
        table.xWrite = { file, bytes, count, offset in
            let (recorder, name) = recorder(file)
            if let code = recorder.failure(of: .write, on: name) { return code }
            let code = real(file).pointee.pMethods.pointee.xWrite(real(file), bytes, count, offset)
            if code == SQLITE_OK {
                let copy = [UInt8](UnsafeRawBufferPointer(start: bytes, count: Int(count)))
                recorder.record(.write(file: name, offset: Int(offset), bytes: copy))
            }
            return code
        }
        table.xTruncate = { file, size in
            let code = real(file).pointee.pMethods.pointee.xTruncate(real(file), size)
            let (recorder, name) = recorder(file)
            if code == SQLITE_OK { recorder.record(.truncate(file: name, size: Int(size))) }
            return code
        }
        table.xSync = { file, flags in
            let (recorder, name) = recorder(file)
            if let code = recorder.failure(of: .sync, on: name) { return code }
            let code = real(file).pointee.pMethods.pointee.xSync(real(file), flags)
            if code == SQLITE_OK { recorder.record(.sync(file: name)) }
            return code
        }
        table.xFileSize = { real($0).pointee.pMethods.pointee.xFileSize(real($0), $1) }
        table.xLock = { real($0).pointee.pMethods.pointee.xLock(real($0), $1) }
        table.xUnlock = { real($0).pointee.pMethods.pointee.xUnlock(real($0), $1) }
        table.xCheckReservedLock = { real($0).pointee.pMethods.pointee.xCheckReservedLock(real($0), $1) }
        table.xFileControl = { real($0).pointee.pMethods.pointee.xFileControl(real($0), $1, $2) }
        table.xSectorSize = { real($0).pointee.pMethods.pointee.xSectorSize(real($0)) }
        table.xDeviceCharacteristics = { real($0).pointee.pMethods.pointee.xDeviceCharacteristics(real($0)) }
        table.xShmMap = { real($0).pointee.pMethods.pointee.xShmMap(real($0), $1, $2, $3, $4) }
        table.xShmLock = { real($0).pointee.pMethods.pointee.xShmLock(real($0), $1, $2, $3) }
        table.xShmBarrier = { real($0).pointee.pMethods.pointee.xShmBarrier(real($0)) }
        table.xShmUnmap = { real($0).pointee.pMethods.pointee.xShmUnmap(real($0), $1) }
        methods.initialize(to: table)
        return Methods(pointer: UnsafePointer(methods))
    }()
}
