import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../repository/source-files.js'

const site = join(root, 'dist/site')
const read = (path: string) => readFileSync(join(site, path), 'utf8')

describe('the documentation as a site', () => {
  it('is built without network, with pages, their texts, the reference and llms.txt', () => {
    // A page that links to what is not there fails the build.
    const built = spawnSync(process.execPath, ['docs/.vitepress/build.mjs'], {
      ...{ cwd: root, encoding: 'utf8' },
      // Whoever would ask a registry or a site gets no further than this.
      env: { ...process.env, HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' },
    })
    expect(built.status === 0 ? '' : built.stderr + built.stdout).toBe('')
    expect(read('records.html')).toContain('Records: tables from classes')
    expect(read('records.md')).toMatch(/^# Records: tables from classes\n/)
    expect(read('tutorial/index.html')).toContain('href="/tutorial/01-first-route"')
    expect(read('llms.txt')).toContain('- [1. A first route](/tutorial/01-first-route.md)')
    expect(read('llms-full.txt')).toContain('# Routes and handlers')
    expect(existsSync(join(site, 'api/functions/src.bootstrap.html'))).toBe(true)
    // Nothing is loaded from elsewhere.
    expect(read('index.html')).not.toMatch(/(?:src|href)="https?:\/\/(?!github\.com\/)/)
  })
})
