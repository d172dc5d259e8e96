import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from '@jest/globals'
import { root } from '../repository/source-files.js'

const site = join(root, 'dist/site')
const read = (path: string) => readFileSync(join(site, path), 'utf8')

describe('the documentation as a site', () => {
  it('is built without network, with pages, their texts, the reference and llms.txt', () => {
    const built = spawnSync(process.execPath, ['docs/build-site.mjs'], {
      ...{ cwd: root, encoding: 'utf8' },
      // Whoever would ask a registry or a site gets no further than this.
      env: { ...process.env, HTTP_PROXY: 'http://127.0.0.1:9', HTTPS_PROXY: 'http://127.0.0.1:9' },
    })
    expect(built.status === 0 ? '' : built.stderr + built.stdout).toBe('')
    expect(read('documents/Records__tables_from_classes.html')).toContain('<h1 id="records-tables')
    expect(read('pages/records/README.md')).toMatch(/^# Records: tables from classes\n/)
    expect(read('functions/src.bootstrap.html')).toContain('bootstrap')
    expect(read('documents/1._A_first_route.html')).toContain('A controller is a class')
    expect(read('llms.txt')).toContain('- [1. A first route](pages/tutorial/01-first-route.md)')
    expect(read('llms-full.txt')).toContain('# Routes and handlers')
    // Nothing is loaded from elsewhere.
    expect(read('index.html')).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="https?:/)
  })
})
