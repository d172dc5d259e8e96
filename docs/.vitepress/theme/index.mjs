/** The theme of the documentation site: the default theme with readable colours. */
import theme from 'vitepress/theme'
import './style.css'

export default theme
