/** Loads one server for some seconds with wrk, or with autocannon where wrk is missing, from the other core. */
import { spawn } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { loadCore, onCore } from './machine.mjs'

const worker = fileURLToPath(new URL('autocannon-worker.mjs', import.meta.url))
const messageClient = fileURLToPath(new URL('message-client.mjs', import.meta.url))

/** Runs a program on the load's core and resolves with what it prints. */
export function runOnLoadCore(program, args, cores = loadCore) {
  const [command, line] = onCore(cores, program, args)
  return new Promise((resolve, reject) => {
    const child = spawn(command, line, { stdio: ['ignore', 'pipe', 'pipe'] })
    let printed = ''
    let complained = ''
    child.stdout.on('data', (text) => (printed += text))
    child.stderr.on('data', (text) => (complained += text))
    child.on('error', reject)
    child.on('exit', (code) => {
      if (code === 0) resolve(printed)
      else reject(new Error(`${program} ended with code ${code}: ${complained.slice(0, 600)}`))
    })
  })
}

const quote = (text) => `[==[${text}]==]`

/** A call of `wrk.format` with all that a request is. */
function toFormat({ method = 'GET', path: target, headers = {}, body }) {
  const fields = Object.entries(headers).map(
    ([name, value]) => `[ ${quote(name)} ] = ${quote(value)}`,
  )
  const text = body === undefined ? 'nil' : quote(body)
  return `wrk.format(${quote(method)}, ${quote(target)}, {${fields.join()}}, ${text})`
}

/** The Lua that says what wrk sends and how it reports; `{n}` in the path counts up. */
function toLua({ method = 'GET', path: target, paths, requests, headers = {}, body }) {
  const lines = [`wrk.method = ${quote(method)}`]
  for (const [name, value] of Object.entries(headers)) {
    lines.push(`wrk.headers[ ${quote(name)} ] = ${quote(value)}`)
  }
  if (body !== undefined) lines.push(`wrk.body = ${quote(body)}`)
  if (requests) {
    // One function for each: Lua has a limit of constants in one.
    lines.push('local all, n = {}, 0', 'function init()')
    for (const request of requests)
      lines.push(`(function() all[#all + 1] = ${toFormat(request)} end)();`)
    lines.push('end', 'function request() n = n % #all + 1 return all[n] end')
  } else if (paths) {
    lines.push(`local paths = { ${paths.map(quote).join(', ')} }`)
    lines.push('local requests, n = {}, 0')
    lines.push(
      'function init() for i, p in ipairs(paths) do requests[i] = wrk.format(nil, p) end end',
    )
    lines.push('function request() n = n % #requests + 1 return requests[n] end')
  } else if (target.includes('{n}')) {
    const [before, after] = target.split('{n}')
    lines.push('local n = 0')
    lines.push(
      `function request() n = n + 1 return wrk.format(nil, ${quote(before)} .. n .. ${quote(after)}) end`,
    )
  } else {
    lines.push(`wrk.path = ${quote(target)}`)
  }
  lines.push(`function done(summary, latency)
  local e = summary.errors
  io.write(string.format('\\nREPORT {"requests":%d,"microseconds":%d,"errors":%d,"refused":%d,"p50":%d,"p99":%d}\\n',
    summary.requests, summary.duration, e.connect + e.read + e.write + e.timeout, e.status,
    latency:percentile(50), latency:percentile(99)))
end`)
  return lines.join('\n')
}

async function runWrk(url, request, { seconds, connections, loadCores }) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'filigree-bench-'))
  try {
    const script = path.join(folder, 'request.lua')
    await writeFile(script, toLua(request))
    const threads = loadCores?.split(',').length ?? 1
    const args = [
      `-t${threads}`,
      `-c${connections}`,
      `-d${seconds}s`,
      '--timeout',
      '20s',
      '-s',
      script,
      url,
    ]
    return await runOnLoadCore('wrk', args, loadCores)
  } finally {
    await rm(folder, { recursive: true })
  }
}

function runAutocannon(url, request, { seconds, connections }) {
  return runOnLoadCore(process.execPath, [
    worker,
    JSON.stringify({ url, request, seconds, connections }),
  ])
}

/**
 * Loads `url` and counts the answers.
 *
 * @param request `{ method?, path | paths, headers?, body? }` or `{ requests: [{ method?, path, headers?, body? }] }`; `paths` and `requests` are asked in turn, `{n}` in `path` counts up
 * @param options `{ load: 'wrk' | 'autocannon', seconds, connections, loadCores? }`; wrk gets a thread on each of the cores
 * @returns `{ perSecond, requests, p50, p99 }`, the times in microseconds
 * @throws {Error} when a connection fails or an answer is no 2xx: such a round says nothing
 */
export async function loadServer(url, request, options) {
  const run = options.load === 'wrk' ? runWrk : runAutocannon
  const printed = await run(url, request, options)
  return readReport(printed, options.load)
}

/**
 * Loads `url` with GraphQL operations over WebSockets. It takes and returns the same as `loadServer`.
 *
 * @param request `{ query, variables, data }`; `data` is what each answer must be
 */
export async function loadWithMessages(url, request, { seconds, connections }) {
  const parts = { url, ...request, seconds, connections }
  return readReport(await runOnLoadCore(process.execPath, [messageClient, JSON.stringify(parts)]))
}

function readReport(printed, program = 'the client') {
  const report = JSON.parse(/^REPORT (.*)$/m.exec(printed)?.[1] ?? 'null')
  if (!report) throw new Error(`${program} printed no report: ${printed.slice(0, 600)}`)
  if (report.errors + report.refused > 0) {
    throw new Error(`${report.errors} connection errors and ${report.refused} answers outside 2xx`)
  }
  const { requests, microseconds, p50, p99 } = report
  return { perSecond: requests / (microseconds / 1e6), requests, p50, p99 }
}
