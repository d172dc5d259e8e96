import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { Gazetteer } from '../../samples/atlas/gazetteer.js'
import { LoadingReport } from '../../samples/atlas/loading-report.js'
import { World } from '../../samples/atlas/world.js'
import { manyCities } from './fixtures/many-cities.js'
import { Collected, logIn, smallWorld, startAtlas, type SmallGazetteer } from './small-world.js'

let folder: string
let url: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'filigree-atlas-'))
  url = `sqlite:${join(folder, 'data', 'atlas.db')}`
})
afterEach(() => {
  rmSync(folder, { recursive: true, force: true })
})

const unread: SmallGazetteer = {
  countries: () => {
    throw new Error('The countries were read again.')
  },
  cities: () => {
    throw new Error('The cities were read again.')
  },
}

describe('the first start of the atlas', () => {
  it('loads the cities and reports it, and later starts skip it and keep later writes', async () => {
    const out = new Collected()
    {
      await using app = await startAtlas({ url, folder, out })
      const token = await logIn(app)
      const json = { name: 'Nýborg', lat: 64.2, lng: -21.7, country: 'IS' }
      expect((await app.inject({ url: '/cities', json, token })).status).toBe(201)
    }
    expect(out.text).toBe('Loading the cities: 10 of 10\n')
    const output = new Collected()
    await using app = await startAtlas({ url, folder, gazetteer: unread, out: output })
    expect(output.text).toBe('')
    expect(await app.get(World).statistics()).toEqual({ countries: 5, cities: 11 })
    expect((await app.inject('/cities/11')).json()).toMatchObject({ name: 'Nýborg' })
    expect(await logIn(app)).not.toBe('')
  })

  it('stores nothing if it fails', async () => {
    const gazetteer: SmallGazetteer = {
      countries: smallWorld.countries,
      cities: () => [...smallWorld.cities(), { name: '', lat: 0, lng: 0, country: 'IS' }],
    }
    await expect(startAtlas({ url, folder, gazetteer })).rejects.toMatchObject({
      code: 'VALIDATION',
      message: '10.name must have at least 1 character',
    })
    await using app = await startAtlas({ url, folder })
    expect(await app.get(World).statistics()).toEqual({ countries: 5, cities: 10 })
    expect((await app.inject('/cities/1')).json()).toMatchObject({ name: 'Reykjavík' })
  })

  it('starts again after a process was killed in the middle of it', async () => {
    const script = fileURLToPath(new URL('./fixtures/load-atlas.ts', import.meta.url))
    const child = spawn(process.execPath, ['--import', 'tsx', script, url, folder], {
      env: { ...process.env, NODE_OPTIONS: '', TSX_TSCONFIG_PATH: 'test/tsconfig.json' },
    })
    const [line] = (await once(child.stderr.setEncoding('utf8'), 'data')) as [string]
    child.kill('SIGKILL')
    await once(child, 'exit')
    expect(line).toContain('Loading the cities: 2,000 of 20,000')
    expect(existsSync(join(folder, 'data', 'atlas.db'))).toBe(true)
    const out = new Collected()
    await using app = await startAtlas({ url, folder, gazetteer: manyCities, out })
    expect(out.text).toContain('20,000 of 20,000')
    expect(await app.get(World).statistics()).toEqual({ countries: 1, cities: 20_000 })
    expect((await app.inject('/cities/20000')).json()).toMatchObject({ name: 'City 19999' })
    expect((await app.inject('/cities?q=city%2019999')).json()).toMatchObject({ total: 1 })
  })
})

describe('LoadingReport', () => {
  it('draws a progress bar on a terminal, and ends the line', () => {
    const out = new Collected()
    out.isTTY = true
    const report = new LoadingReport(out)
    report.show('Loading', 1, 4)
    report.show('Loading', 4, 4)
    expect(out.text).toBe(
      `\rLoading ${'█'.repeat(8)}${'░'.repeat(22)} 1 of 4\rLoading ${'█'.repeat(30)} 4 of 4\n`,
    )
  })

  it('writes a line for every tenth if there is no terminal', () => {
    const out = new Collected()
    const report = new LoadingReport(out)
    for (let done = 1; done <= 1000; done++) report.show('Loading', done * 10, 10_000)
    const lines = out.text.trimEnd().split('\n')
    expect(lines).toHaveLength(10)
    expect([lines[0], lines[9]]).toEqual(['Loading: 1,000 of 10,000', 'Loading: 10,000 of 10,000'])
  })
})

describe('Gazetteer', () => {
  it('has the cities of the world, in the order of the ids', () => {
    const gazetteer = new Gazetteer()
    const codes = new Set(gazetteer.countries().map(({ code }) => code))
    const cities = gazetteer.cities()
    expect([codes.size, cities.length]).toEqual([250, 171_075])
    expect(cities[84_548]).toEqual({
      name: 'Reykjavík',
      lat: 64.13548,
      lng: -21.89541,
      country: 'IS',
    })
    expect(cities.filter(({ country }) => !codes.has(country))).toEqual([])
  })
})
