// Loaded before a program by scripts/run.mjs: when that process is killed, the program is asked to end.
// Otherwise it would keep its cluster for ever.
if (process.channel) {
  process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'))
  process.channel.unref()
}
