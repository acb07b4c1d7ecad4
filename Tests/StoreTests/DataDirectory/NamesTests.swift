import Commands
import Host
import Store
import Testing

/// The names of files and settings, which programs of every version share.
@Suite struct NamesTests {
    @Test func `locks keep their names`() {
        let run = DataDirectory(path: "/d").run
        #expect(run.lock(.coordinator) == "/d/run/coordinator.lock")
        #expect(run.lock(.checkpoint) == "/d/run/checkpoint.lock")
        #expect(run.lock(.create) == "/d/run/create.lock")
        #expect(run.lock(.backup) == "/d/run/backup.lock")
        #expect(run.lock(.seat(7)) == "/d/run/seat-07.lock")
        #expect(run.lock(.seat(255)) == "/d/run/seat-255.lock")
    }

    @Test func `notes keep their names`() {
        let run = DataDirectory(path: "/d").run
        #expect(run.clock == "/d/run/coordinator.clock")
        #expect(run.coordinatorEpoch == "/d/run/coordinator.incarnation")
    }

    @Test func `keys of settings keep their form`() {
        let host = Destination(scheme: "http", host: "h", port: 80)
        #expect(SettingKey.pause(qos: nil, destination: nil) == "pause.*.*")
        #expect(SettingKey.pause(qos: .utility, destination: host) == "pause.utility.http://h:80")
        #expect(SettingKey.network(host) == "network.http://h:80")
        #expect(SettingKey.worker(seat: 3) == "worker.3")
        #expect(SettingKey.link(.up, host.text) == "link.up.http://h:80")
    }
}
