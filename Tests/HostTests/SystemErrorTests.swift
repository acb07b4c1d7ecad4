import Glibc
import Host
import Testing

@Suite struct SystemErrorTests {
    @Test func `an error says what failed, why, and what to do`() {
        #expect(
            SystemError(EACCES, "open", "/etc/hosts").description
                == "cannot open “/etc/hosts”: permission denied; run as the user that owns it")
        #expect(
            SystemError(ENOENT, attempt: "start a thread").description
                == "cannot start a thread: no such file or directory")
        #expect(SystemError(EMFILE, "open", "/x").description.hasSuffix("raise the limit (ulimit -n), or try again"))
    }

    /// The kind: an error about a path that does not exist yet, such as the target of `backup`, `get`, `put` or `--data`.
    /// Every error with a path passes here.
    @Test func `a refused path that does not exist is explained by the directory that refuses`() throws {
        let directory = "/tmp/sluice-system-error-\(getpid())"
        mkdir(directory, 0o700)
        defer { rmdir(directory) }
        let missing = "\(directory)/copy"
        let said = SystemError(EACCES, "create", missing).description
        #expect(
            said.hasPrefix("cannot create “\(missing)”: permission denied in “\(directory)”, which belongs to user "),
            "\(said)")
        #expect(!said.contains("run as the user that owns it"))
        #expect(
            SystemError(ENOENT, "create", "\(directory)/a/b/c").description
                == "cannot create “\(directory)/a/b/c”: no such file or directory: “\(directory)/a” does not exist")
        #expect(SystemError(ENOENT, "open", missing).reason == "no such file or directory")
        #expect(SystemError(EACCES, "create", "sluice-no-such-file").reason.contains("permission denied in “.”"))
    }

    @Test func `an error leaves the number of the last one as it is`() {
        errno = EACCES
        _ = SystemError("open", "/no/such/directory")
        #expect(errno == EACCES)
    }

    @Test func `an error without an attempt is only the words of the system`() {
        #expect(SystemError(EIO).description == "input/output error")
        #expect(SystemError(EIO).reason == "input/output error")
        #expect(SystemError(ENOSPC).reason == "no space left on device; make room on its file system")
    }

    @Test func `the last error of the thread is taken by default`() {
        #expect(throws: SystemError(ENOENT, "open", "/no/such/directory/file")) {
            _ = try openFile("/no/such/directory/file", O_RDONLY)
        }
    }
}
