/** The pages in the package lead to what is in the package. */
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { expect, it } from '@jest/globals'
import { root } from '../repository/source-files.js'

it('has no page with a link to what the package lacks', () => {
  const args = ['pack', '--dry-run', '--json', '--ignore-scripts']
  const text = execFileSync('npm', args, { cwd: root, encoding: 'utf8' })
  const [{ files }] = JSON.parse(text) as [{ files: { path: string }[] }]
  const paths = files.map(({ path }) => path)
  const pages = paths.filter((path) => path.endsWith('.md') && !path.startsWith('templates/'))
  expect(pages).toContain('README.md')
  const dead = pages.flatMap((page) => {
    const prose = readFileSync(join(root, page), 'utf8').replace(/^```[^]*?^```/gm, '')
    return [...prose.matchAll(/\]\(([^)\s#]+)[^)\s]*\)|\bsrc(?:set)?="([^"#]+)"/g)]
      .map(([, link, image]) => link ?? image ?? '')
      .filter((to) => !/^\w+:|^\//.test(to))
      .map((to) => relative(root, resolve(root, dirname(page), to)))
      .filter((path) => !paths.some((there) => there === path || there.startsWith(`${path}/`)))
      .map((path) => `${page}: ${path}`)
  })
  expect(dead).toEqual([])
})
