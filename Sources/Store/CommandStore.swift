/// Keeps the commands. The store is the truth; every message between processes is a hint.
///
/// All calls block, and a write waits up to 10 s for other writes (``WriteTimeout``): call them from a thread
/// of your own, never from the cooperative pool.
///
/// Its roles are protocols of their own, so that code which only reads says so. Two implementations share one
/// conformance suite: ``SQLiteStore`` and ``MemoryStore``. The upkeep of files and the condition
/// of the whole store are not roles: see ``StoreMaintenance`` and ``StoreHealth``.
package protocol CommandStore:
    SubmitStore, ReadingStore, QueueStore, ExecutionStore, RequestStore, SettingStore, PruningStore,
    ScheduleStore, UploadStore, InboxStore
{}
