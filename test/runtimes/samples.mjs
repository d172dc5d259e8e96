/** Starts hello and the atlas on a runtime like a user, sends requests, and ends them. @throws on any failure */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const query = '{ countries(where: { name: { eq: "Iceland" } }) { name cities(limit: 2) { name } } }'

/**
 * @param command the runtime with its arguments before the file name
 * @param app the folder of the project, which is built
 * @returns the SQLite driver that the atlas chose
 */
export async function trySamples(command, app) {
  const folder = await mkdtemp(join(tmpdir(), 'filigree-samples-'))
  try {
    await using(command, app, 'hello', folder, async ({ url }) => {
      assert.deepEqual(await getJson(`${url}/hello/Ada`), { message: 'Hello, Ada!' })
    })
    return await using(command, app, 'atlas', folder, tryAtlas)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

async function tryAtlas({ url, driver }) {
  const iceland = await getJson(`${url}/countries/IS`)
  assert.equal(iceland.name, 'Iceland')
  assert.ok((await getJson(`${url}/cities?q=reykja`)).items.length > 0)
  assert.match(await (await fetch(url, { headers: { accept: 'text/html' } })).text(), /<html/)
  assert.match((await getJson(`${url}/swagger/openapi.json`)).openapi, /^3\./)
  const answer = await fetch(`${url}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query }),
  })
  const { data } = await answer.json()
  assert.equal(data.countries[0].name, 'Iceland')
  assert.equal(typeof data.countries[0].cities[1].name, 'string')
  const login = await fetch(`${url}/login`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'ada', password: 'analytical' }),
  })
  assert.equal(login.status, 200)
  assert.match(login.headers.get('freshtoken'), /^eyJ/)
  // Many responses with many rows: the bug of better-sqlite3 12 on Node 24 appears within seconds.
  for (let round = 0; round < 300; round++) await getJson(`${url}/countries?limit=50`)
  return driver
}

async function getJson(url) {
  const answer = await fetch(url)
  assert.equal(answer.status, 200, url)
  return answer.json()
}

/** Starts a sample at a free port, and sends SIGTERM when the work is done. The sample must exit. */
async function using([runtime, ...before], app, sample, folder, work) {
  const child = spawn(runtime, [...before, join(app, `dist/samples/${sample}/main.js`)], {
    cwd: folder,
    env: {
      ...process.env,
      PORT: '0',
      LOG_FORMAT: 'json',
      DATABASE_URL: `sqlite:${join(folder, `${sample}.db`)}`,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = new Promise((resolve) =>
    child.once('close', (code, signal) => resolve({ code, signal })),
  )
  const output = { text: '' }
  child.stderr.on('data', (data) => (output.text += data))
  try {
    const result = await work(await listening(child, output))
    child.kill('SIGTERM')
    assert.deepEqual(await ended, { code: 0, signal: null }, output.text)
    return result
  } catch (cause) {
    child.kill('SIGKILL')
    throw new Error(`${sample}: ${cause.message}\n${output.text}`, { cause })
  }
}

/** The address in the log line of the start. */
function listening(child, output) {
  return new Promise((resolve, reject) => {
    child.once('close', () => reject(new Error('It ended.')))
    child.stdout.on('data', (data) => {
      output.text += data
      const line = output.text.split('\n').find((one) => one.includes('"msg":"listening at'))
      if (line !== undefined) resolve(JSON.parse(line))
    })
  })
}
