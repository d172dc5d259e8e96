/** The rows `get` and `post` on Bun, beside Elysia. */
import { fileURLToPath } from 'node:url'
import { measureLoad } from '../harness/load-row.mjs'
import * as get from './get.mjs'
import * as post from './post.mjs'

const bun = fileURLToPath(new URL('../node_modules/.bin/bun', import.meta.url))
const onBun = (name, file) => ({ name, file, program: bun })

const makeRow = ({ name, title, contenders, probes, request }) => ({
  name,
  group: 'bun',
  title,
  targets: [{ of: 'Filigree', over: 'Elysia', atLeast: 1 }],
  measure: (options) => measureLoad({ contenders, probes, request }, options),
})

export const rows = [
  makeRow({
    ...get,
    name: 'bun-get',
    title: 'Typed GET on Bun, small JSON',
    contenders: [
      onBun('Bun.serve', 'bun/bare-get.mjs'),
      onBun('Filigree', 'get/filigree.ts'),
      onBun('Elysia', 'bun/elysia-get.mjs'),
    ],
  }),
  makeRow({
    ...post,
    name: 'bun-post',
    title: 'Validated POST on Bun, 5 fields and 3 nested objects, echoed',
    contenders: [
      onBun('Bun.serve, unchecked', 'bun/bare-post.mjs'),
      onBun('Filigree', 'post/filigree.ts'),
      onBun('Elysia', 'bun/elysia-post.mjs'),
    ],
  }),
]
