/** Decorative icons, drawn as SVG. */
import { svg } from './element.js'

const iconPaths = {
  up: 'M4 10l4-4 4 4',
  down: 'M4 6l4 4 4-4',
  upOrDown: 'M5 6.5l3-3 3 3M5 9.5l3 3 3-3',
  left: 'M10 4L6 8l4 4',
  right: 'M6 4l4 4-4 4',
  plus: 'M8 3v10M3 8h10',
  cross: 'M4 4l8 8M12 4l-8 8',
  menu: 'M2 4h12M2 8h12M2 12h12',
  search: 'M7 12A5 5 0 1 0 7 2a5 5 0 0 0 0 10zM14 14l-3.4-3.4',
  filter: 'M2 3.5h12M4.5 8h7M7 12.5h2',
  columns: 'M2.5 3h11v10h-11zM6.2 3v10M9.8 3v10',
  chart: 'M3 13V8M8 13V3M13 13V6',
  export: 'M8 2v8M5 7l3 3 3-3M3 13h10',
  import: 'M8 10V2M5 5l3-3 3 3M3 13h10',
  star: 'M8 2l1.8 3.9 4.2.5-3.1 2.9.8 4.2L8 11.4l-3.7 2.1.8-4.2L2 6.4l4.2-.5z',
  bin: 'M3 4.5h10M6.5 4.5V3h3v1.5M4.5 4.5l.6 8.5h5.8l.6-8.5',
  clock: 'M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12zM8 5v3l2 1.5',
} as const

/** A decorative icon. It must have text next to it. */
export const icon = (name: keyof typeof iconPaths): SVGSVGElement =>
  svg(
    'svg',
    {
      class: 'icon',
      'data-icon': name,
      viewBox: '0 0 16 16',
      'aria-hidden': 'true',
      focusable: 'false',
    },
    svg('path', { d: iconPaths[name] }),
  )
