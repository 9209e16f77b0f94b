/** What the form gains where the page lets scripts run; without it, nothing is missing but comfort. Pure. */
import { fromMenu } from '../images/catalogue/reference.ts'
import { rootClass } from './style.ts'

/**
 * Whoever chooses in the menu means the menu. The menu shows nothing before, since choosing what it shows already would
 * change nothing that a page could notice. Leaves no global; run again for a form that it has seen, it does no harm.
 */
export const script = `{
for(const form of document.querySelectorAll('.${rootClass}')){
const menu=form.querySelector('[name=image_dropdown]'),radio=form.querySelector('[value=${fromMenu}]');
if(!menu||!radio)continue;
menu.addEventListener('change',()=>{radio.checked=true});
radio.addEventListener('change',()=>{if(menu.selectedIndex<0)menu.selectedIndex=0});
if(!radio.checked)menu.selectedIndex=-1
}}`
